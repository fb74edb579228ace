#include "weir/aws/http/exchange_timeouts.h"

#include <utility>

namespace weir::internal {

void ExchangeTimeouts::SetTimeout(const ExchangePtr& exchange, Instant at) {
  const auto limit = timeouts_.emplace(at, exchange);
  exchange->limit = limit;
}

void ExchangeTimeouts::Enqueue(const ExchangePtr& exchange, Position position) {
  const auto before = position == Position::kFront ? queue_.begin() : queue_.end();
  exchange->queued = queue_.insert(before, exchange);
}

void ExchangeTimeouts::Remove(Exchange& exchange) {
  if (exchange.queued) queue_.erase(*std::exchange(exchange.queued, std::nullopt));
  if (exchange.limit) timeouts_.erase(*std::exchange(exchange.limit, std::nullopt));
  exchange.connection = nullptr;
}

ExchangePtr ExchangeTimeouts::TakeQueued(Instant now) {
  while (!queue_.empty()) {
    ExchangePtr first = queue_.front();
    if (!first->limits.LatestBegin().ExpiredAt(now)) {
      Remove(*first);
      return first;
    }
    // Its limit has passed: the loop will complete it, and it must not be sent any more.
    queue_.pop_front();
    first->queued = std::nullopt;
  }
  return nullptr;
}

std::vector<TimedOutExchange> ExchangeTimeouts::TakeTimedOut(Instant now, bool all) {
  std::vector<TimedOutExchange> timed_out;
  while (!timeouts_.empty() && (all || timeouts_.begin()->first <= now)) {
    ExchangePtr exchange = timeouts_.begin()->second;
    ConnectionPtr connection = exchange->connection;
    Remove(*exchange);
    // Only the thread that sets kOver first completes the exchange.
    const auto before = exchange->state.exchange(Exchange::State::kOver);
    if (before == Exchange::State::kOver) continue;  // another thread is completing it
    const bool maybe_sent = before == Exchange::State::kSending;
    timed_out.push_back({std::move(exchange), std::move(connection), maybe_sent});
  }
  return timed_out;
}

}  // namespace weir::internal
