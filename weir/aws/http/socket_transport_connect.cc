// The connections of a SocketTransport: how they are made and closed.
#include <algorithm>
#include <utility>

#include "weir/aws/http/socket_transport.h"

namespace weir::internal {

bool SocketTransport::NeedsMore() const {
  // One connection is made for each queued exchange.
  return connecting_ < queue_.size() && open_ < options_.max_connections && !closing_;
}

void SocketTransport::OpenMore() {
  if (!NeedsMore()) return;
  const Instant now = clock_.Now();
  while (connecting_ < pace_.MostAt(now) && NeedsMore()) {
    pace_.Begun(now);
    ++connecting_;
    ++open_;
    loop_->Post([this] { StartConnecting(); });
  }
  // OnTime opens the next one at that time.
  if (pace_.next() > now) WakeBy(pace_.next());
}

void SocketTransport::Learn(const Exchange& exchange, SocketConnection& connection) {
  if (exchange.answered) {
    connection.SetProven();
    pace_.Answered();
  } else if (!connection.is_proven()) {
    pace_.Failed(clock_.Now());
  }
}

void SocketTransport::StartConnecting() {
  ++lookups_;
  Resolve(*runtime_.resolver(), options_.host, options_.port,
          // May run after the transport was destroyed; then the gate is closed.
          [this, gate = gate_](Addresses addresses) {
            const MutexLock lock(gate->mutex);
            if (gate->loop == nullptr) return;
            gate->loop->Post([this, addresses = std::move(addresses)]() mutable {
              OnAddresses(std::move(addresses));
            });
          });
}

void SocketTransport::OnAddresses(Addresses addresses) {
  // CloseAll has already subtracted this lookup from the counts.
  if (closed_) return;
  --lookups_;
  if (!addresses) return OnConnected(tl::unexpected(addresses.error()));
  const auto connector = std::make_shared<Connector>(
      Connector::HostEnvironment{*loop_, clock_, dead_}, connector_options_, *std::move(addresses),
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
    if (!stream) {
      --open_;
      pace_.Failed(clock_.Now());
    }
    changed_.notify_all();
  }
  if (stream) {
    // The connection goes to the exchange that has waited longest, or becomes idle.
    SocketConnection::Owner& owner = *this;
    Release(std::make_shared<SocketConnection>(owner, *loop_, settings_, *std::move(stream)), true,
            nullptr);
  } else {
    FailQueued(stream.error().message, 0);
  }
  const MutexLock lock(mutex_);
  OpenMore();
}

void SocketTransport::FailQueued(const std::string& why, std::size_t lost) {
  std::vector<ExchangePtr> failed;
  {
    const MutexLock lock(mutex_);
    if (open_ > lost) return;
    while (ExchangePtr first = TakeQueued()) {
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
  // Each Cancel calls OnConnected, which changes `connectors_`: iterate over a copy.
  for (const auto& each : std::vector(connectors_)) each->Cancel();
  {
    const MutexLock lock(gate_->mutex);
    gate_->loop = nullptr;
  }
  closed_ = true;
  std::vector<ConnectionPtr> idle;
  {
    const MutexLock lock(mutex_);
    // The connections that wait for a lookup will never be made.
    connecting_ -= lookups_;
    open_ -= lookups_;
    for (std::deque<Idle>* const from : {&watched_, &unwatched_}) {
      for (Idle& each : *from) idle.push_back(std::move(each.connection));
      from->clear();
    }
    changed_.notify_all();
  }
  for (const ConnectionPtr& each : idle) Discard(*each);
}

}  // namespace weir::internal
