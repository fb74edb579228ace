// Calls of the system that fail when a test says so. For sockets that do not block: the servers of
// the tests are spared. Tests only.
#pragma once

#include <cstddef>

namespace weir {

/// While it lives, call number `nth` (from 1) of socket, connect, send, recv, epoll_ctl and eventfd
/// fails, and all later ones succeed. One at a time.
class FaultySockets {
 public:
  explicit FaultySockets(std::size_t nth);
  ~FaultySockets();
  FaultySockets(const FaultySockets&) = delete;
  FaultySockets& operator=(const FaultySockets&) = delete;

  /// Whether that call was reached.
  bool failed() const;
};

/// While it lives, `send` has no room. One at a time.
class FullSockets {
 public:
  FullSockets();
  ~FullSockets();
  FullSockets(const FullSockets&) = delete;
  FullSockets& operator=(const FullSockets&) = delete;
};

/// While it lives, and once `recv` has returned bytes, the peer seems to send 'x' without end and
/// faster than they are read. One at a time.
class EndlessSockets {
 public:
  EndlessSockets();
  ~EndlessSockets();
  EndlessSockets(const EndlessSockets&) = delete;
  EndlessSockets& operator=(const EndlessSockets&) = delete;
};

/// While it lives, the system's resolver does not answer. One at a time.
class SilentResolver {
 public:
  SilentResolver();
  ~SilentResolver();
  SilentResolver(const SilentResolver&) = delete;
  SilentResolver& operator=(const SilentResolver&) = delete;

  /// Blocks until the resolver was asked.
  void WaitForQuestion() const;
};

}  // namespace weir
