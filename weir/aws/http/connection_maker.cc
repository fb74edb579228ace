#include "weir/aws/http/connection_maker.h"

#include <algorithm>
#include <utility>

namespace weir::internal {

ConnectionMaker::ConnectionMaker(Owner& owner, Context context, ConnectorOptions options,
                                 std::uint16_t port)
    : owner_(owner),
      context_(context),
      options_(std::move(options)),
      port_(port),
      gate_(std::make_shared<LookupGate>()) {
  // Opens the gate: the results of lookups are posted to this loop.
  const MutexLock lock(gate_->mutex);
  gate_->loop = &context_.loop;
}

ConnectionMaker::~ConnectionMaker() {
  // The lock waits for a thread of the resolver that is posting its result to the loop.
  const MutexLock lock(gate_->mutex);
  gate_->loop = nullptr;
}

void ConnectionMaker::Start() {
  ++lookups_;
  Resolve(context_.resolver, options_.host, port_,
          // May run after the maker was destroyed; then the gate is closed.
          [this, gate = gate_](Addresses addresses) {
            const MutexLock lock(gate->mutex);
            if (gate->loop == nullptr) return;
            gate->loop->Post([this, addresses = std::move(addresses)]() mutable {
              OnAddresses(std::move(addresses));
            });
          });
}

void ConnectionMaker::OnAddresses(Addresses addresses) {
  // CancelAll has counted this connection in its result: it must not be reported to the owner too.
  if (cancelled_) return;
  --lookups_;
  if (!addresses) return OnConnected(tl::unexpected(addresses.error()));
  const auto connector = std::make_shared<Connector>(
      Connector::Context{context_.loop, context_.clock, dead_addresses_}, options_,
      *std::move(addresses),
      [this](Result<std::unique_ptr<ByteStream>> stream) { OnConnected(std::move(stream)); });
  connectors_.push_back(connector);
  connector->Begin();
  owner_.OnNextWakeChanged();
}

void ConnectionMaker::OnConnected(Result<std::unique_ptr<ByteStream>> stream) {
  std::erase_if(connectors_, [](const auto& each) { return each->is_over(); });
  owner_.OnConnected(std::move(stream));
}

std::size_t ConnectionMaker::CancelAll() {
  // Each Cancel calls OnConnected, which changes `connectors_`: iterate over a copy.
  for (const auto& each : std::vector(connectors_)) each->Cancel();
  const MutexLock lock(gate_->mutex);
  gate_->loop = nullptr;
  cancelled_ = true;
  return lookups_;
}

void ConnectionMaker::OnTime(Instant now) {
  // Connector::OnTime may end the connector, which changes `connectors_`: iterate over a copy.
  for (const auto& each : std::vector(connectors_)) {
    if (each->wake() <= now) each->OnTime();
  }
}

Instant ConnectionMaker::next_wake() const {
  Instant next{INT64_MAX};
  for (const auto& each : connectors_) next = std::min(next, each->wake());
  return next;
}

}  // namespace weir::internal
