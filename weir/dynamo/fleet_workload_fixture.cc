#include "weir/dynamo/fleet_workload_fixture.h"

#include <utility>

namespace weir::dynamo {
namespace {

constexpr std::uint64_t kChildren = 3;
constexpr std::chrono::milliseconds kRest{1'500};
constexpr int kBurst = 25;
constexpr std::chrono::seconds kPatience{3};

}  // namespace

const std::vector<Limit>& FleetLimits() {
  static const std::vector<Limit> limits{{"rpm", PerSecond(10).Burst(20)},
                                         {"tpm", Quota{700'001, 333'333, 997}}};
  return limits;
}

std::map<std::string, Quota> FleetQuotas() {
  std::map<std::string, Quota> quotas;
  for (const Limit& limit : FleetLimits()) quotas.emplace(limit.name, limit.quota);
  return quotas;
}

FleetWorkload::FleetWorkload(Fleet& fleet, std::uint64_t seed, nanoseconds run)
    : fleet_(fleet),
      rng_(seed),
      longest_wait_(seed % 2 == 0 ? 120 : 1'000),
      parent_(MakeTarget({"team", "llm", 0}, FleetLimits())),
      end_(fleet.scheduler().clock().Now() + run) {
  for (std::uint64_t i = 0; i < kChildren; ++i) {
    children_.push_back(MakeTarget({"user-" + std::to_string(i), "llm", 0}, FleetLimits()));
  }
  for (auto& process : fleet.processes()) Ask(*process);
}

void FleetWorkload::Ask(FleetProcess& process) {
  auto& scheduler = fleet_.scheduler();
  if (scheduler.clock().Now() >= end_) return;
  const bool rested = rng_.Chance(0.05);
  for (int i = rested ? kBurst : 1; i > 0; --i) AskOnce(process);
  const auto wait = rested ? kRest : std::chrono::milliseconds(rng_.Between(1, longest_wait_));
  scheduler.At(scheduler.clock().Now() + wait, [this, &process] { Ask(process); });
}

void FleetWorkload::AskOnce(FleetProcess& process) {
  const std::vector<Charge> charges{{children_[rng_.Below(kChildren)], Amounts()},
                                    {parent_, Amounts()}};
  ++tally_.asked;
  process.buckets().Acquire(
      charges, process.now(), Deadline::After(fleet_.scheduler().clock(), kPatience),
      [this, &process, charges](Result<Decision> decision) { Take(process, charges, decision); });
}

std::vector<std::int64_t> FleetWorkload::Amounts() {
  return {rng_.Between(0, 2) * 1000, rng_.Between(0, rng_.Chance(0.1) ? 600'000 : 30'000)};
}

void FleetWorkload::Take(FleetProcess& process, const std::vector<Charge>& charges,
                         const Result<Decision>& decision) {
  ++tally_.answered;
  if (!decision) {
    ++tally_.failed;
    tally_.failure = decision.error().message;
    return;
  }
  if (!decision->admitted) {
    ++tally_.refused;
    return;
  }
  ++tally_.admitted;
  tally_.doubtful += decision->maybe_charged_twice ? 1 : 0;
  Note(charges.front());
  if (!rng_.Chance(0.5)) return;
  std::vector<Charge> held = charges;
  for (std::size_t i = 0; i < decision->shards.size(); ++i) held[i].shard = decision->shards[i];
  CorrectLater(process, held);
}

void FleetWorkload::CorrectLater(FleetProcess& process, const std::vector<Charge>& charges) {
  auto& scheduler = fleet_.scheduler();
  const auto wait = std::chrono::milliseconds(rng_.Between(0, 900));
  scheduler.At(scheduler.clock().Now() + wait,
               [this, &process, charges] { Correct(process, charges); });
}

void FleetWorkload::Correct(FleetProcess& process, const std::vector<Charge>& charges) {
  std::vector<Charge> deltas = charges;
  for (Charge& delta : deltas) {
    delta.amounts[0] = -delta.amounts[0];
    delta.amounts[1] = rng_.Between(-delta.amounts[1], 5'000);
  }
  process.buckets().Adjust(deltas, {rng_.Next(), rng_.Next()}, process.now(),
                           Deadline::After(fleet_.scheduler().clock(), kPatience),
                           [this, deltas](const Status& status) {
                             if (status) Note(deltas.front());
                           });
}

void FleetWorkload::Note(const Charge& charge) {
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    tally_.told[charge.target->limits[i].name] += charge.amounts[i];
  }
}

std::map<std::string, std::int64_t> ChildrenConsumed(const Fleet& fleet) {
  std::map<std::string, std::int64_t> consumed;
  for (const auto& [name, list] : fleet.ReadMovements()) {
    if (name.first.find("#user-") == std::string::npos) continue;
    for (const Movement& movement : list) consumed[name.second] += movement.consumed;
  }
  return consumed;
}

}  // namespace weir::dynamo
