// The connections of a transport that carry no exchange.
#pragma once

#include <deque>
#include <vector>

#include "weir/aws/http/socket_connection.h"
#include "weir/base/time.h"

namespace weir::internal {

/// Not thread-safe: the transport's lock is held during each call.
class IdleConnections {
 public:
  /// A connection expires when it has been idle for `timeout`.
  explicit IdleConnections(nanoseconds timeout) : timeout_(timeout) {}

  /// Returns the time at which the connection expires.
  Instant Add(ConnectionPtr connection, Instant now);
  /// Removes and returns the connection that was used last; null if there is none. Prefers the
  /// watched connections if the loop will read, and the unwatched ones if the caller will.
  ConnectionPtr Take(Reader reader);
  /// Returns false if the connection is not idle.
  bool Remove(const ConnectionPtr& connection);
  /// Removes and returns the connections that have expired.
  std::vector<ConnectionPtr> TakeExpired(Instant now);
  std::vector<ConnectionPtr> TakeAll();
  /// Returns the time at which the next connection expires, or the last Instant.
  Instant next_expiry() const;

 private:
  struct Idle {
    ConnectionPtr connection;
    Instant since;
  };

  const nanoseconds timeout_;
  /// In the order in which they became idle. The loop watches the connections in watched_.
  std::deque<Idle> watched_, unwatched_;
};

}  // namespace weir::internal
