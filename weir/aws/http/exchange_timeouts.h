// The exchanges of a transport that have not ended: when each times out, and the queue of those
// that wait for a connection.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <vector>

#include "weir/aws/http/socket_exchange.h"
#include "weir/base/time.h"

namespace weir::internal {

/// An exchange that timed out.
struct TimedOutExchange {
  ExchangePtr exchange;
  ConnectionPtr connection;  ///< null: the exchange was queued
  bool maybe_sent;
};

/// Each exchange has one timeout until it ends. Not thread-safe: the transport's lock is held
/// during each call.
class ExchangeTimeouts {
 public:
  enum class Position { kFront, kBack };

  void SetTimeout(const ExchangePtr& exchange, Instant at);
  void Enqueue(const ExchangePtr& exchange, Position position);
  /// Removes the exchange from timeouts and queue, and takes its connection away.
  void Remove(Exchange& exchange);
  /// Removes and returns the first queued exchange that may still be sent; null if there is none.
  ExchangePtr TakeQueued(Instant now);
  /// Ends the exchanges whose timeout has passed, or all of them; the caller completes them.
  std::vector<TimedOutExchange> TakeTimedOut(Instant now, bool all);

  std::size_t queued() const { return queue_.size(); }
  bool has_timeouts() const { return !timeouts_.empty(); }
  /// REQUIRES: has_timeouts().
  Instant first_timeout() const { return timeouts_.begin()->first; }

 private:
  std::multimap<Instant, ExchangePtr> timeouts_;
  std::list<ExchangePtr> queue_;
};

}  // namespace weir::internal
