// The limits of requests in a SocketTransport, and its timer.
#include <algorithm>
#include <utility>

#include "weir/aws/http/socket_transport.h"

namespace weir::internal {

HttpFailure SocketTransport::TimeOut(const Exchange& exchange, bool maybe_sent) const {
  HttpFailure failure =
      Failure(exchange, maybe_sent, maybe_sent ? "no answer in time" : "no connection in time");
  failure.timed_out = true;
  return failure;
}

void SocketTransport::SetLimit(const ExchangePtr& exchange, Instant at) {
  const auto limit = limits_.emplace(at, exchange);
  exchange->limit = limit;
  // If the transport may give up, OnTime must check that regularly.
  WakeBy(options_.gives_up ? std::min(at, clock_.Now() + kBetweenLooks) : at);
}

void SocketTransport::Forget(Exchange& exchange) {
  if (exchange.queued) queue_.erase(*std::exchange(exchange.queued, std::nullopt));
  if (exchange.limit) limits_.erase(*std::exchange(exchange.limit, std::nullopt));
  exchange.connection = nullptr;
}

void SocketTransport::WakeBy(Instant at) {
  // OnTime runs earlier, and sets the timer again.
  if (at >= wakes_at_) return;
  wakes_at_ = at;
  loop_->WakeAt(at);
}

void SocketTransport::OnTime() {
  const Instant now = clock_.Now();
  const bool gives_up = GivesUp();
  std::vector<Overdue> overdue;
  std::vector<ConnectionPtr> expired;
  {
    const MutexLock lock(mutex_);
    overdue = TakeOverdue(now, gives_up);
    expired = TakeExpired(now);
    OpenMore();
  }
  // Outside the lock, because Abandon takes the connection's lock and callbacks may call Send. If
  // Abandon returns false, the exchange has just ended there, or has not begun; the thread that
  // carries it then releases the connection.
  for (const Overdue& each : overdue) {
    if (each.connection != nullptr && each.connection->Abandon(each.exchange)) {
      Release(each.connection, false, nullptr);
    }
    Answer(*each.exchange, tl::unexpected(TimeOut(*each.exchange, each.maybe_sent)));
  }
  for (const ConnectionPtr& each : expired) Discard(*each);
  // OnLimit may end a connector, which changes `connectors_`: iterate over a copy.
  for (const auto& each : std::vector(connectors_)) {
    if (each->limit() <= now) each->OnLimit();
  }
  SetWakeUp();
}

std::vector<SocketTransport::Overdue> SocketTransport::TakeOverdue(Instant now, bool all) {
  std::vector<Overdue> overdue;
  while (!limits_.empty() && (all || limits_.begin()->first <= now)) {
    ExchangePtr exchange = limits_.begin()->second;
    ConnectionPtr connection = exchange->connection;
    Forget(*exchange);
    // Only the thread that sets kOver first completes the exchange.
    const auto before = exchange->state.exchange(Exchange::State::kOver);
    if (before == Exchange::State::kOver) continue;  // its answer is on the way
    const bool maybe_sent = before == Exchange::State::kSending;
    overdue.push_back({std::move(exchange), std::move(connection), maybe_sent});
  }
  return overdue;
}

std::vector<ConnectionPtr> SocketTransport::TakeExpired(Instant now) {
  std::vector<ConnectionPtr> expired;
  for (std::deque<Idle>* const from : {&watched_, &unwatched_}) {
    while (!from->empty() && from->front().since + options_.idle_timeout <= now) {
      expired.push_back(std::move(from->front().connection));
      from->pop_front();
    }
  }
  return expired;
}

void SocketTransport::SetWakeUp() {
  const MutexLock lock(mutex_);
  Instant next{INT64_MAX};
  if (!limits_.empty()) {
    next = limits_.begin()->first;
    if (options_.gives_up) next = std::min(next, clock_.Now() + kBetweenLooks);
  }
  for (const std::deque<Idle>* const from : {&watched_, &unwatched_}) {
    if (!from->empty()) next = std::min(next, from->front().since + options_.idle_timeout);
  }
  // While connections are being made, OnConnected opens more.
  if (NeedsMore() && connecting_ == 0) next = std::min(next, pace_.next());
  for (const auto& each : connectors_) next = std::min(next, each->limit());
  wakes_at_ = next;
  loop_->WakeAt(next);
}

}  // namespace weir::internal
