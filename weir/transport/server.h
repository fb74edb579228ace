// Listens, and drives the connections that are accepted.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/result.h"
#include "weir/runtime/deadline.h"
#include "weir/telemetry/log.h"
#include "weir/transport/connection.h"
#include "weir/transport/drain_result.h"
#include "weir/transport/event_loop.h"
#include "weir/transport/server_counters.h"
#include "weir/transport/server_options.h"

namespace weir::transport {

/// A set of listeners with one protocol and one set of bounds. Several servers may share loops.
/// Mechanism and bounds: docs/design/transport.md.
///
/// The first loop accepts; a connection stays on one loop, the one with the fewest connections of
/// this server at that time. Functions may be called from any thread but those of the loops; after
/// Listen, Start must return before other functions are called.
class Server {
 public:
  /// REQUIRES: there is at least one loop. The loops and the log must outlive the server. `factory`
  /// is called on all loops.
  Server(EventLoops& loops, ServerOptions options, ConnectionFactory factory, Log& log = NoLog());
  /// Stops accepting and cuts all connections.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Reads the files of TLS and opens all listeners, so that peers can connect; they are served
  /// once Start is called. To be called at most once, before Start. After an error, which names the
  /// option and the remedy, nothing listens.
  Status Listen();
  /// Calls Listen unless it was called, and begins to accept. To be called once.
  Status Start();
  /// Returns the addresses of the listeners, with the ports that the system chose.
  std::vector<std::string> addresses() const;
  /// Reads the files of TLS again; blocks for that. New handshakes use the new files. If a file
  /// cannot be used, the previous files remain in use, and the error is returned, logged and
  /// counted. Returns kFailedPrecondition without TLS.
  Status ReloadTls();
  /// Stops accepting, asks all connections to end, and cuts at `deadline` those that have not
  /// ended. `done` runs on a loop's thread when all have ended. A second call fails with
  /// kFailedPrecondition. The destructor cuts connections that are still draining.
  void Drain(Deadline deadline, Done<DrainResult> done);

  /// Returns the number of connections that are open, handshakes included.
  std::size_t connections() const;
  const ServerCounters& counters() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::transport
