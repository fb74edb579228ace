// System calls that fail when a test requests it. Only for non-blocking sockets, so that the
// servers of the tests are not affected. Tests only.
#pragma once

#include <cstddef>

namespace weir {

/// While it exists, call number `nth` (from 1) of socket, connect, send, recv, epoll_ctl and
/// eventfd fails, and all later ones succeed. At most one may exist at a time.
class FaultySockets {
 public:
  explicit FaultySockets(std::size_t nth);
  ~FaultySockets();
  FaultySockets(const FaultySockets&) = delete;
  FaultySockets& operator=(const FaultySockets&) = delete;

  /// Returns whether that call was reached.
  bool failed() const;
};

/// While it exists, `send` would block. At most one may exist at a time.
class FullSockets {
 public:
  FullSockets();
  ~FullSockets();
  FullSockets(const FullSockets&) = delete;
  FullSockets& operator=(const FullSockets&) = delete;
};

/// While it exists, once `recv` has returned bytes, the peer seems to send 'x' without end, faster
/// than they are read. At most one may exist at a time.
class EndlessSockets {
 public:
  EndlessSockets();
  ~EndlessSockets();
  EndlessSockets(const EndlessSockets&) = delete;
  EndlessSockets& operator=(const EndlessSockets&) = delete;
};

/// While it exists, the system's resolver does not respond. At most one may exist at a time.
class SilentResolver {
 public:
  SilentResolver();
  ~SilentResolver();
  SilentResolver(const SilentResolver&) = delete;
  SilentResolver& operator=(const SilentResolver&) = delete;

  /// Blocks until the resolver has been called.
  void WaitForQuestion() const;
};

}  // namespace weir
