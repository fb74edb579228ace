// Accepts the connections of one listening socket.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "weir/base/result.h"
#include "weir/telemetry/counter.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"
#include "weir/transport/fd_watch.h"
#include "weir/transport/socket_address.h"

namespace weir::transport {

/// Used and destroyed on the loop's thread. If the system lacks a resource for a connection (EMFILE
/// and the like), the acceptor pauses for 100 ms, because the listener stays readable.
class Acceptor final : private FdHandler {
 public:
  /// Receives each socket and the address of its peer.
  using Take = std::function<void(UniqueFd, const SocketAddress&)>;

  /// The references must outlive the acceptor.
  Acceptor(EventLoop& loop, Take take, Counter& errors, Log& log)
      : loop_(loop), take_(std::move(take)), errors_(errors), log_(log) {}
  ~Acceptor() override;

  /// Begins to accept. `listener` is a socket that listens.
  Status Start(UniqueFd listener);

 private:
  void OnReadable() override;
  void OnWritable() override {}
  /// Accepts one connection. Returns whether the next call may accept another: false if none is
  /// pending, or after an error that needs a pause.
  bool AcceptOne();
  void Pause(int error);

  EventLoop& loop_;
  const Take take_;
  Counter& errors_;
  Log& log_;
  RepeatedEvent events_{std::chrono::seconds(10)};
  std::unique_ptr<FdWatch> watch_;
  std::optional<TimerId> pause_;
};

}  // namespace weir::transport
