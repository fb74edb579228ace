#include "weir/aws/http/pending_exchanges.h"

#include <utility>

namespace weir::internal {

void PendingExchanges::SetLimit(const ExchangePtr& exchange, Instant at) {
  const auto limit = limits_.emplace(at, exchange);
  exchange->limit = limit;
}

void PendingExchanges::Enqueue(const ExchangePtr& exchange, Position position) {
  const auto before = position == Position::kFront ? queue_.begin() : queue_.end();
  exchange->queued = queue_.insert(before, exchange);
}

void PendingExchanges::Remove(Exchange& exchange) {
  if (exchange.queued) queue_.erase(*std::exchange(exchange.queued, std::nullopt));
  if (exchange.limit) limits_.erase(*std::exchange(exchange.limit, std::nullopt));
  exchange.connection = nullptr;
}

ExchangePtr PendingExchanges::TakeQueued(Instant now) {
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

std::vector<OverdueExchange> PendingExchanges::TakeOverdue(Instant now, bool all) {
  std::vector<OverdueExchange> overdue;
  while (!limits_.empty() && (all || limits_.begin()->first <= now)) {
    ExchangePtr exchange = limits_.begin()->second;
    ConnectionPtr connection = exchange->connection;
    Remove(*exchange);
    // Only the thread that sets kOver first completes the exchange.
    const auto before = exchange->state.exchange(Exchange::State::kOver);
    if (before == Exchange::State::kOver) continue;  // another thread is completing it
    const bool maybe_sent = before == Exchange::State::kSending;
    overdue.push_back({std::move(exchange), std::move(connection), maybe_sent});
  }
  return overdue;
}

}  // namespace weir::internal
