#include "weir/zae_table/testing/fleet_workload_fixture.h"

#include <utility>

namespace weir::dynamo {
namespace {

constexpr std::chrono::milliseconds kRest{1'500};
constexpr int kBurst = 25;
constexpr std::chrono::seconds kPatience{3};
constexpr std::size_t kProbesOfBucket = 4;

// The capacity and rate are so high that a decision is seldom refused even if it is charged many
// times.
std::vector<Limit> ProbeLimits() {
  std::vector<Limit> limits;
  limits.reserve(kProbesOfBucket);
  for (std::size_t i = 0; i < kProbesOfBucket; ++i) {
    limits.push_back({"probe" + std::to_string(i), PerSecond(1'000).Burst(200)});
  }
  return limits;
}

}  // namespace

const std::vector<Limit>& FleetLimits() {
  static const std::vector<Limit> limits{{"rpm", PerSecond(10).Burst(20)},
                                         {"tpm", Quota{700'001, 333'333, 997}}};
  return limits;
}

std::string FleetChild(std::uint64_t index) { return "user-" + std::to_string(index); }

std::map<std::string, Quota> FleetQuotas() {
  std::map<std::string, Quota> quotas;
  for (const Limit& limit : FleetLimits()) quotas.emplace(limit.name, limit.quota);
  for (const Limit& limit : ProbeLimits()) quotas.emplace(limit.name, limit.quota);
  return quotas;
}

FleetWorkload::FleetWorkload(Fleet& fleet, std::uint64_t seed, nanoseconds run, WorkloadOdds odds)
    : fleet_(fleet),
      rng_(seed),
      odds_(odds),
      longest_wait_(seed % 2 == 0 ? 120 : 1'000),
      parent_(MakeTarget({"team", "llm", 0}, FleetLimits())),
      lull_(fleet.scheduler().clock().Now() + run / 2),
      end_(fleet.scheduler().clock().Now() + run + odds.lull),
      ledger_(fleet.scheduler().clock()) {
  for (std::uint64_t i = 0; i < kFleetChildren; ++i) {
    children_.push_back(MakeTarget({FleetChild(i), "llm", 0}, FleetLimits()));
  }
  for (auto& process : fleet.processes()) Ask(*process);
}

void FleetWorkload::Ask(FleetProcess& process) {
  auto& scheduler = process.scheduler();
  const Instant now = scheduler.clock().Now();
  if (now >= end_ || process.is_dead()) return;
  if (now >= lull_ && now < lull_ + odds_.lull) {
    scheduler.At(lull_ + odds_.lull, [this, &process] { Ask(process); });
    return;
  }
  const bool rested = rng_.Chance(0.05);
  for (int i = rested ? kBurst : 1; i > 0; --i) AskOnce(process);
  const auto wait = rested ? kRest : std::chrono::milliseconds(rng_.Between(1, longest_wait_));
  scheduler.At(scheduler.clock().Now() + wait, [this, &process] { Ask(process); });
}

void FleetWorkload::AskOnce(FleetProcess& process) {
  std::vector<Charge> charges{odds_.only_probes ? NextProbe(process) : DrawChild(process)};
  if (!odds_.only_probes) charges.push_back({parent_, Amounts()});
  ++tally_.asked;
  ledger_.Acquire(process, charges, DrawDeadline(),
                  [this, &process, charges](const Result<Decision>& decision) {
                    Take(process, charges, decision);
                  });
}

Charge FleetWorkload::DrawChild(const FleetProcess& process) {
  if (rng_.Chance(odds_.probe)) return NextProbe(process);
  return {children_[rng_.Below(kFleetChildren)], Amounts()};
}

Charge FleetWorkload::NextProbe(const FleetProcess& process) {
  Probes& probes = probes_[&process];
  if (!probes.target || probes.used == kProbesOfBucket) {
    const std::string name = "probe-" + std::to_string(probe_buckets_++);
    probes = {MakeTarget({name, "llm", 0}, ProbeLimits())};
  }
  Charge charge{probes.target, std::vector<std::int64_t>(kProbesOfBucket)};
  charge.amounts[probes.used++] = rng_.Between(1, 2'000);
  return charge;
}

Deadline FleetWorkload::Patient() const {
  return Deadline::After(fleet_.scheduler().clock(), kPatience);
}

Deadline FleetWorkload::DrawDeadline() {
  if (!rng_.Chance(odds_.hasty)) return Patient();
  return Deadline::After(fleet_.scheduler().clock(),
                         std::chrono::milliseconds(rng_.Between(40, 400)));
}

std::vector<std::int64_t> FleetWorkload::Amounts() {
  return {rng_.Between(0, 2) * 1000, rng_.Between(0, rng_.Chance(0.1) ? 600'000 : 30'000)};
}

void FleetWorkload::Take(FleetProcess& process, const std::vector<Charge>& charges,
                         const Result<Decision>& decision) {
  ++tally_.completed;
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
  tally_.probed += charges.front().target->limits.size() == kProbesOfBucket ? 1 : 0;
  if (!rng_.Chance(0.5)) return;
  std::vector<Charge> held = charges;
  for (std::size_t i = 0; i < decision->shards.size(); ++i) held[i].shard = decision->shards[i];
  CorrectLater(process, held);
}

void FleetWorkload::CorrectLater(FleetProcess& process, const std::vector<Charge>& charges) {
  auto& scheduler = process.scheduler();
  const auto wait = std::chrono::milliseconds(rng_.Between(0, 900));
  scheduler.At(scheduler.clock().Now() + wait,
               [this, &process, charges] { Correct(process, charges); });
}

void FleetWorkload::Correct(FleetProcess& process, const std::vector<Charge>& charges) {
  if (process.is_dead()) return;
  std::vector<Charge> deltas = charges;
  for (Charge& delta : deltas) {
    delta.amounts[0] = -delta.amounts[0];
    for (std::size_t i = 1; i < delta.amounts.size(); ++i) {
      const std::int64_t taken = delta.amounts[i];
      if (taken != 0 || &delta == &deltas.back()) delta.amounts[i] = rng_.Between(-taken, 5'000);
    }
  }
  const AdjustId token{rng_.Next(), rng_.Next()};
  ledger_.Adjust(process, deltas, token, Patient(), [](const Status&) {});
  if (!rng_.Chance(odds_.repeated)) return;
  ++tally_.repeated;
  auto& scheduler = process.scheduler();
  const auto wait = std::chrono::milliseconds(rng_.Between(0, 300));
  scheduler.At(scheduler.clock().Now() + wait, [this, &process, deltas, token] {
    if (process.is_dead()) return;
    ledger_.Adjust(process, deltas, token, Patient(), [](const Status&) {});
  });
}

}  // namespace weir::dynamo
