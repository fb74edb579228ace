// The exchanges of a transport that have not ended: their limits, and the queue of those that wait
// for a connection.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <vector>

#include "weir/aws/http/socket_exchange.h"
#include "weir/base/time.h"

namespace weir::internal {

/// An exchange that its limit has ended.
struct OverdueExchange {
  ExchangePtr exchange;
  ConnectionPtr connection;  ///< null: the exchange was queued
  bool maybe_sent;
};

/// Each exchange has one limit until it is over. Not thread-safe: the transport's lock is held
/// during each call.
class PendingExchanges {
 public:
  enum class Position { kFront, kBack };

  void SetLimit(const ExchangePtr& exchange, Instant at);
  void Enqueue(const ExchangePtr& exchange, Position position);
  /// Removes the exchange from limits and queue, and takes its connection away.
  void Remove(Exchange& exchange);
  /// Removes and returns the first queued exchange that may still be sent; null if there is none.
  ExchangePtr TakeQueued(Instant now);
  /// Ends the exchanges whose limit has passed, or all of them; the caller completes them.
  std::vector<OverdueExchange> TakeOverdue(Instant now, bool all);

  std::size_t queued() const { return queue_.size(); }
  bool has_limits() const { return !limits_.empty(); }
  /// REQUIRES: has_limits().
  Instant first_limit() const { return limits_.begin()->first; }

 private:
  std::multimap<Instant, ExchangePtr> limits_;
  std::list<ExchangePtr> queue_;
};

}  // namespace weir::internal
