#include "weir/zae_table/testing/fleet_names_fixture.h"

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNamesPatience{3'000};
constexpr std::int64_t kLongestGap = 60;             // ms between two requests of a process
constexpr std::int64_t kLongestConfiguration = 400;  // ms
constexpr std::int64_t kLongestLease = 700;          // ms
constexpr int kVariants = 3;

// Slow in comparison with the run, so that forgotten tokens show: 10 to 14 tokens, and one or two
// come back each second. A greater capacity has a greater rate.
Quota VariantOf(std::size_t name, int variant) {
  const auto base = static_cast<std::int64_t>(10 + name % 5);
  return PerSecond(1 + variant / 2).Burst(base + 3 * variant);
}

std::string NameAt(std::size_t index) { return "n" + std::to_string(index); }

std::string EntityAt(int bucket) { return "acme-" + std::to_string(bucket); }

}  // namespace

std::map<std::string, Quota> GreatestQuotas(const NamesTerms& terms) {
  std::map<std::string, Quota> quotas;
  for (std::size_t name = 0; name < terms.names; ++name) {
    quotas.emplace(NameAt(name), VariantOf(name, terms.variants ? kVariants - 1 : 0));
  }
  return quotas;
}

FleetNames::FleetNames(Fleet& fleet, FleetLedger& ledger, const NamesTerms& terms,
                       std::uint64_t seed, Instant end)
    : fleet_(fleet),
      ledger_(ledger),
      terms_(terms),
      rng_(seed),
      end_(end),
      cached_(fleet.processes().size()) {
  Configure();
  for (std::size_t process = 0; process < cached_.size(); ++process) {
    cached_[process] = configured_;
    Refresh(process);
    Ask(process);
  }
}

Limit FleetNames::DrawLimit(std::size_t name) {
  const int variant = terms_.variants ? static_cast<int>(rng_.Below(kVariants)) : 0;
  return {NameAt(name), VariantOf(name, variant)};
}

std::vector<Limit> FleetNames::DrawSet(std::size_t most) {
  std::vector<Limit> limits;
  for (std::size_t count = 1 + rng_.Below(most); count > 0; --count) {
    Limit limit = DrawLimit(rng_.Below(terms_.names));
    const bool is_new = std::ranges::find(limits, limit.name, &Limit::name) == limits.end();
    if (is_new) limits.push_back(std::move(limit));
  }
  return limits;
}

void FleetNames::Configure() {
  auto& scheduler = fleet_.scheduler();
  configured_ = DrawSet(4);
  ++tally_.changes;
  if (scheduler.clock().Now() >= end_) return;
  scheduler.At(scheduler.clock().Now() + milliseconds(rng_.Between(20, kLongestConfiguration)),
               [this] { Configure(); });
}

void FleetNames::Refresh(std::size_t process) {
  auto& scheduler = fleet_.scheduler();
  cached_[process] = configured_;
  if (scheduler.clock().Now() >= end_) return;
  const std::int64_t times = process + 1 == cached_.size() ? 5 : 1;
  const milliseconds stale(rng_.Between(1, times * terms_.stalest.count()));
  scheduler.At(scheduler.clock().Now() + stale, [this, process] { Refresh(process); });
}

TargetPtr FleetNames::DrawTarget(std::size_t process) {
  const BucketKey key{EntityAt(static_cast<int>(rng_.Between(0, terms_.buckets - 1))), "llm", 0};
  if (rng_.Chance(0.35)) return MakeTarget(key, DrawSet(3), LimitSource::kOverride);
  tally_.stale += cached_[process] == configured_ ? 0 : 1;
  return MakeTarget(key, cached_[process]);
}

Charge FleetNames::DrawCharge(const TargetPtr& target) {
  Charge charge{target, {}};
  const bool looks = rng_.Chance(0.1);
  for (const Limit& limit : target->limits) {
    const std::int64_t most = std::min<std::int64_t>(limit.quota.capacity, 5'000);
    charge.amounts.push_back(looks || rng_.Chance(0.2) ? 0 : rng_.Between(1, most));
  }
  return charge;
}

void FleetNames::Ask(std::size_t process) {
  FleetProcess& asking = *fleet_.processes()[process];
  auto& scheduler = asking.scheduler();
  if (scheduler.clock().Now() >= end_ || asking.is_dead()) return;
  const Charge charge = DrawCharge(DrawTarget(process));
  ++tally_.asked;
  ledger_.Acquire(asking, {charge}, Deadline::After(scheduler.clock(), kNamesPatience),
                  [this, process, charge](const Result<Decision>& decision) {
                    OnResult(process, charge, decision);
                  });
  scheduler.At(scheduler.clock().Now() + milliseconds(rng_.Between(1, kLongestGap)),
               [this, process] { Ask(process); });
}

void FleetNames::OnResult(std::size_t process, const Charge& charge,
                          const Result<Decision>& decision) {
  ++tally_.completed;
  if (!decision) {
    const bool is_full = decision.error().code == Code::kFailedPrecondition;
    ++(is_full ? tally_.no_room : tally_.failed);
    if (!is_full) tally_.failure = decision.error().message;
    return;
  }
  if (!decision->admitted) {
    ++tally_.refused;
    return;
  }
  const Target& target = *charge.target;
  tally_.overrides += target.source == LimitSource::kOverride ? 1 : 0;
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    if (charge.amounts[i] == 0) continue;
    tally_.taken[{target.key.entity, target.limits[i].name}] += charge.amounts[i];
  }
  if (rng_.Chance(0.4)) AdjustLater(process, charge);
}

void FleetNames::AdjustLater(std::size_t process, Charge charge) {
  auto& scheduler = fleet_.processes()[process]->scheduler();
  for (std::int64_t& amount : charge.amounts) {
    if (amount != 0) amount = rng_.Between(-amount, 4'000);
  }
  const auto adjust = [this, process, charge = std::move(charge)] {
    const bool departed = std::ranges::any_of(charge.target->limits, [&](const Limit& limit) {
      return std::ranges::find(configured_, limit.name, &Limit::name) == configured_.end();
    });
    tally_.departed += departed ? 1 : 0;
    FleetProcess& holder = *fleet_.processes()[process];
    if (holder.is_dead()) return;
    const Deadline deadline = Deadline::After(fleet_.scheduler().clock(), kNamesPatience);
    ledger_.Adjust(holder, {charge}, {rng_.Next(), rng_.Next()}, deadline, [](const Status&) {});
  };
  scheduler.At(scheduler.clock().Now() + milliseconds(rng_.Between(0, kLongestLease)), adjust);
}

NamesTally& operator+=(NamesTally& sum, const NamesTally& other) {
  sum.asked += other.asked;
  sum.completed += other.completed;
  sum.refused += other.refused;
  sum.failed += other.failed;
  sum.no_room += other.no_room;
  sum.overrides += other.overrides;
  sum.changes += other.changes;
  sum.stale += other.stale;
  sum.departed += other.departed;
  return sum;
}

std::map<std::pair<std::string, std::string>, std::int64_t> TakenInTable(const Fleet& fleet) {
  std::map<std::pair<std::string, std::string>, std::int64_t> taken;
  for (const auto& [name, list] : fleet.ReadMovements()) {
    // "<namespace>/BUCKET#<entity>#<resource>"
    const std::size_t from = name.first.find('#') + 1;
    const std::string entity = name.first.substr(from, name.first.rfind('#') - from);
    for (const Movement& movement : list) {
      if (!movement.is_adjust) taken[{entity, name.second}] += movement.consumed;
    }
  }
  return taken;
}

}  // namespace weir::dynamo
