#include "weir/zae_table/testing/fleet_peers_fixture.h"

#include <utility>

namespace weir::dynamo {
namespace {

constexpr std::int64_t kLongestPeerGap = 150;  // ms between two requests of a client
constexpr double kStale = 0.2;  // part of the requests with the limits before the last change

std::vector<Limit> PeerLimits(bool with_peer_limit) {
  std::vector<Limit> limits = FleetLimits();
  if (with_peer_limit) limits.push_back({std::string(kPeerLimit), PerSecond(5).Burst(10)});
  return limits;
}

}  // namespace

FleetPeers::FleetPeers(Fleet& fleet, FleetLedger& ledger, std::uint64_t seed, const PeerOdds& odds,
                       Instant end)
    : fleet_(fleet), rng_(~seed), odds_(odds), end_(end) {
  for (int i = 0; i < odds.clients; ++i) {
    clients_.push_back(std::make_unique<ZaeClient>(fleet, ledger, rng_.Next()));
    clients_.back()->network().faults = odds.network;
    Ask(*clients_.back());
  }
  if (odds.aggregator > nanoseconds(0)) {
    aggregator_ = std::make_unique<ZaeAggregator>(fleet, rng_.Next(), odds.aggregator, end);
    aggregator_->network().faults = odds.network;
  }
  if (odds.sync > nanoseconds(0) && odds.clients > 0) Sync();
}

std::vector<Charge> FleetPeers::DrawCharges() {
  const bool is_stale = odds_.sync > nanoseconds(0) && rng_.Chance(kStale);
  const TargetPtr child = MakeTarget({FleetChild(rng_.Below(kFleetChildren)), "llm", 0},
                                     PeerLimits(has_peer_limit_ != is_stale));
  const TargetPtr parent = MakeTarget({"team", "llm", 0}, FleetLimits());
  std::vector<Charge> charges;
  for (const TargetPtr& target : {child, parent}) {
    Charge charge{target, std::vector<std::int64_t>(target->limits.size())};
    charge.amounts[0] = rng_.Between(1, 2) * 1000;
    charge.amounts[1] = rng_.Between(0, 60) * 1000;
    if (charge.amounts.size() > 2) charge.amounts[2] = rng_.Between(0, 1) * 1000;
    charges.push_back(std::move(charge));
  }
  return charges;
}

void FleetPeers::Ask(ZaeClient& client) {
  auto& scheduler = fleet_.scheduler();
  if (scheduler.clock().Now() >= end_) return;
  client.Acquire(DrawCharges(), [this, &client](std::vector<ZaeHeld> held) {
    if (!held.empty() && rng_.Chance(0.5)) CorrectLater(client, std::move(held));
  });
  const milliseconds gap(rng_.Between(1, kLongestPeerGap));
  scheduler.At(scheduler.clock().Now() + gap, [this, &client] { Ask(client); });
}

void FleetPeers::CorrectLater(ZaeClient& client, std::vector<ZaeHeld> held) {
  auto& scheduler = fleet_.scheduler();
  const milliseconds wait(rng_.Between(0, 900));
  scheduler.At(scheduler.clock().Now() + wait, [this, &client, held = std::move(held)] {
    for (const ZaeHeld& one : held) Correct(client, one);
  });
}

// Corrects each limit upwards or downwards, and never returns more than was taken.
void FleetPeers::Correct(ZaeClient& client, const ZaeHeld& held) {
  std::vector<std::int64_t> deltas = held.charge.amounts;
  for (std::int64_t& delta : deltas) delta = delta == 0 ? 0 : rng_.Between(-delta / 1000, 3) * 1000;
  client.Adjust(held, std::move(deltas));
}

void FleetPeers::Sync() {
  auto& scheduler = fleet_.scheduler();
  if (scheduler.clock().Now() >= end_) return;
  has_peer_limit_ = !has_peer_limit_;
  ++syncs_;
  std::vector<std::string> removed;
  if (!has_peer_limit_) removed.emplace_back(kPeerLimit);
  for (std::size_t child = 0; child < kFleetChildren; ++child) {
    const auto target = MakeTarget({FleetChild(child), "llm", 0}, PeerLimits(has_peer_limit_));
    clients_.front()->SyncParameters(target, removed);
  }
  scheduler.At(scheduler.clock().Now() + odds_.sync, [this] { Sync(); });
}

PeerCounts FleetPeers::counts() const {
  PeerCounts counts{.syncs = syncs_};
  for (const auto& client : clients_) {
    counts += {.calls = client->tally(), .repeated = client->repeated()};
  }
  if (aggregator_) counts.aggregator = aggregator_->tally();
  return counts;
}

PeerCounts& operator+=(PeerCounts& sum, const PeerCounts& other) {
  sum.calls.admitted += other.calls.admitted;
  sum.calls.refused += other.calls.refused;
  sum.calls.failed += other.calls.failed;
  sum.calls.slow += other.calls.slow;
  sum.calls.lost_passes += other.calls.lost_passes;
  sum.calls.seeds += other.calls.seeds;
  sum.calls.bumps += other.calls.bumps;
  sum.calls.unproven += other.calls.unproven;
  sum.calls.compensated += other.calls.compensated;
  sum.aggregator.refills += other.aggregator.refills;
  sum.aggregator.lost_refills += other.aggregator.lost_refills;
  sum.aggregator.bumps += other.aggregator.bumps;
  sum.aggregator.clones += other.aggregator.clones;
  sum.syncs += other.syncs;
  sum.repeated += other.repeated;
  return sum;
}

std::map<std::string, Quota> QuotasWithPeers() {
  std::map<std::string, Quota> quotas = FleetQuotas();
  quotas.emplace(kPeerLimit, PeerLimits(true).back().quota);
  for (auto& [name, quota] : quotas) quota.capacity *= 2;
  return quotas;
}

}  // namespace weir::dynamo
