// What a SocketTransport does on the thread of its loop: limits and new connections.
#include <algorithm>
#include <utility>

#include "weir/aws/socket_transport.h"

namespace weir::internal {

void SocketTransport::OnTime() {
  const Instant now = clock_.Now();
  const bool gives_up = GivesUp();
  std::vector<Overdue> overdue;
  std::vector<ConnectionPtr> expired;
  {
    const MutexLock lock(mutex_);
    overdue = TakeOverdue(now, gives_up);
    expired = TakeExpired(now);
  }
  for (const Overdue& each : overdue) {
    if (each.connection != nullptr && each.connection->Abandon(each.exchange)) {
      Release(each.connection, false, nullptr);
    }
    Answer(*each.exchange, tl::unexpected(TimeOut(*each.exchange, each.maybe_sent)));
  }
  for (const ConnectionPtr& each : expired) Discard(*each);
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
  for (const auto& each : connectors_) next = std::min(next, each->limit());
  wakes_at_ = next;
  loop_->WakeAt(next);
}

void SocketTransport::StartConnecting() {
  Resolve(*runtime_.resolver(), options_.host, options_.port, [this](Addresses addresses) {
    loop_->Post(
        [this, addresses = std::move(addresses)]() mutable { OnAddresses(std::move(addresses)); });
  });
}

void SocketTransport::OnAddresses(Addresses addresses) {
  bool closing = false;
  {
    const MutexLock lock(mutex_);
    closing = closing_;
  }
  if (closing || !addresses) {
    return OnConnected(closing ? Fail(Code::kCancelled, "the transport is closed")
                               : tl::unexpected(addresses.error()));
  }
  const auto connector = std::make_shared<Connector>(
      *loop_, clock_, connector_options_, *std::move(addresses),
      [this](Result<std::unique_ptr<ByteStream>> stream) { OnConnected(std::move(stream)); });
  connectors_.push_back(connector);
  connector->Begin();
  SetWakeUp();
}

void SocketTransport::OnConnected(Result<std::unique_ptr<ByteStream>> stream) {
  std::erase_if(connectors_, [](const auto& each) { return each->is_over(); });
  {
    const MutexLock lock(mutex_);
    --connecting_;
    if (!stream) --open_;
    changed_.notify_all();
  }
  if (!stream) return FailQueued(stream.error().message);
  SocketConnection::Owner& owner = *this;
  auto connection =
      std::make_shared<SocketConnection>(owner, *loop_, settings_, *std::move(stream));
  Release(std::move(connection), true, nullptr);
}

// Those that wait for a connection that is being made still have it.
void SocketTransport::FailQueued(const std::string& why) {
  std::vector<ExchangePtr> failed;
  {
    const MutexLock lock(mutex_);
    while (queue_.size() > connecting_) {
      ExchangePtr first = TakeQueued();
      if (first->state.exchange(Exchange::State::kOver) != Exchange::State::kOver) {
        failed.push_back(std::move(first));
      }
    }
  }
  for (const ExchangePtr& each : failed) {
    Answer(*each, tl::unexpected(Failure(*each, false, why)));
  }
}

void SocketTransport::CloseAll() {
  for (const auto& each : std::vector(connectors_)) each->Cancel();
  std::vector<ConnectionPtr> idle;
  {
    const MutexLock lock(mutex_);
    for (std::deque<Idle>* const from : {&watched_, &unwatched_}) {
      for (Idle& each : *from) idle.push_back(std::move(each.connection));
      from->clear();
    }
  }
  for (const ConnectionPtr& each : idle) Discard(*each);
}

}  // namespace weir::internal
