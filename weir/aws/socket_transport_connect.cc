// How a SocketTransport comes by connections.
#include <algorithm>
#include <utility>

#include "weir/aws/socket_transport.h"

namespace weir::internal {

bool SocketTransport::NeedsMore() const {
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
          [this, gate = gate_](Addresses addresses) {
            const MutexLock lock(gate->mutex);
            if (gate->loop == nullptr) return;
            gate->loop->Post([this, addresses = std::move(addresses)]() mutable {
              OnAddresses(std::move(addresses));
            });
          });
}

void SocketTransport::OnAddresses(Addresses addresses) {
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
    SocketConnection::Owner& owner = *this;
    Release(std::make_shared<SocketConnection>(owner, *loop_, settings_, *std::move(stream)), true,
            nullptr);
  } else {
    FailQueued(stream.error().message, 0);
  }
  const MutexLock lock(mutex_);
  OpenMore();
}

// While there is another connection, or one is being made, that may serve those that wait.
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
  for (const auto& each : std::vector(connectors_)) each->Cancel();
  {
    const MutexLock lock(gate_->mutex);
    gate_->loop = nullptr;
  }
  closed_ = true;
  std::vector<ConnectionPtr> idle;
  {
    const MutexLock lock(mutex_);
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
