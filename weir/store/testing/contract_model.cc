// Compares random sequences of calls with a slow and obvious store.
#include <algorithm>
#include <map>
#include <ostream>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

// A meter with its own time. `configured` is set by the last request with resolved limits that took
// tokens.
struct Owned {
  Meter meter;
  UnixMillis time;
  bool configured = false;
};
using MetersByName = std::map<std::string, Owned>;  // by the name of the limit

bool IsFull(const Owned& owned, UnixMillis now) {
  return weir::IsFull({.time = owned.time, .meters = {owned.meter}}, now);
}

// The model: one map, without locks, sharing or forgetting; every step works on copies.
class ObviousStore {
 public:
  Decision Acquire(const std::vector<Charge>& charges, UnixMillis now) {
    Decision decision{.admitted = true};
    for (const Charge& charge : charges) {
      for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
        const Limit& limit = charge.target->limits[i];
        const Meter meter = Judged(*charge.target, limit, now);
        const milliseconds wait = RetryAfter(meter, charge.amounts[i]);
        decision.limits.push_back({charge.target->key.entity, charge.target->key.resource,
                                   limit.name, limit.quota.capacity, meter.tokens,
                                   charge.amounts[i], wait > milliseconds(0), wait});
        decision.retry_after = std::max(decision.retry_after, wait);
        decision.admitted = decision.admitted && wait == milliseconds(0);
      }
    }
    const bool is_look = std::ranges::none_of(charges, Changes);
    for (const Charge& charge : charges) {
      if (decision.admitted && !is_look) {
        Take(charge, now);
      } else if (Changes(charge) || IsShort(charge, now)) {
        Store(charge, now);
      }
    }
    return decision;
  }

  void Adjust(const std::vector<Charge>& charges, const AdjustTerms& terms, UnixMillis now) {
    if (std::exchange(counted_[terms.id], true)) return;
    for (const Charge& charge : charges) {
      if (terms.stores_limits && Changes(charge)) Store(charge, now);
      for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
        if (charge.amounts[i] == 0) continue;
        const Limit& limit = charge.target->limits[i];
        Owned owned = At(charge.target->key, limit, now);
        weir::Adjust(owned.meter, charge.amounts[i]);
        buckets_[charge.target->key][limit.name] = owned;
      }
    }
  }

  // Returns the meters of a bucket; none if it was never used.
  MetersByName Of(const BucketKey& key) const {
    const auto found = buckets_.find(key);
    return found == buckets_.end() ? MetersByName() : found->second;
  }

  // A store may have forgotten such a bucket, and with it which limits were configured.
  bool IsForgettable(const BucketKey& key, UnixMillis now) const {
    return std::ranges::all_of(Of(key),
                               [now](const auto& named) { return IsFull(named.second, now); });
  }

 private:
  // Returns the meter at `now`, under its stored parameters.
  Owned At(const BucketKey& key, const Limit& limit, UnixMillis now) const {
    const MetersByName meters = Of(key);
    const auto found = meters.find(limit.name);
    if (found == meters.end()) return {FullMeter(limit.quota), now, false};
    Owned owned = found->second;
    // A full meter that is not configured is equivalent to none.
    if (!owned.configured && IsFull(owned, now)) return {FullMeter(limit.quota), now, false};
    Refill(owned.meter, (now - owned.time).count());
    owned.time = now;
    return owned;
  }

  Meter Judged(const Target& target, const Limit& limit, UnixMillis now) const {
    const Owned owned = At(target.key, limit, now);
    Meter meter = owned.meter;
    Quota quota = limit.quota;
    if (owned.configured && target.source == LimitSource::kOverride) {
      quota.amount = meter.quota.amount;
      quota.period = meter.quota.period;
    }
    if (meter.quota != quota) ChangeQuota(meter, quota);
    return meter;
  }

  void Take(const Charge& charge, UnixMillis now) {
    const Target& target = *charge.target;
    if (!Changes(charge)) return;
    const bool configures = target.source == LimitSource::kConfigured;
    if (configures) Configure(target, now);
    MetersByName& meters = buckets_[target.key];
    for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
      if (!configures && charge.amounts[i] == 0) continue;
      const Limit& limit = target.limits[i];
      Owned owned = At(target.key, limit, now);
      if (!owned.configured) owned.meter = Judged(target, limit, now);
      Debit(owned.meter, charge.amounts[i]);
      meters[limit.name] = owned;
    }
  }

  // The wait after a refusal, or after a look at an empty bucket, is computed at the rates of the
  // request's own limits.
  void Store(const Charge& charge, UnixMillis now) {
    const bool configures = charge.target->source == LimitSource::kConfigured;
    const bool is_there = buckets_.contains(charge.target->key);
    if (configures && is_there) Configure(*charge.target, now);
  }

  bool IsShort(const Charge& charge, UnixMillis now) const {
    return std::ranges::any_of(charge.target->limits, [&](const Limit& limit) {
      return Judged(*charge.target, limit, now).tokens < kMillitokens;
    });
  }

  static bool Changes(const Charge& charge) {
    return std::ranges::any_of(charge.amounts, [](auto amount) { return amount != 0; });
  }

  void Configure(const Target& target, UnixMillis now) {
    MetersByName next = Of(target.key);
    for (auto& [name, owned] : next) owned.configured = false;
    for (const Limit& limit : target.limits) {
      Owned owned = At(target.key, limit, now);
      owned.meter = Judged(target, limit, now);
      owned.configured = true;
      next[limit.name] = owned;
    }
    buckets_[target.key] = std::move(next);
  }

  std::map<BucketKey, MetersByName> buckets_;
  std::map<AdjustId, bool> counted_;
};

// One call. Its numbers refer to the buckets that exist when it is made.
struct Step {
  enum Kind { kAcquire, kAdjust, kRepeatAdjust, kChangeLimits, kOverride };
  Kind kind;
  milliseconds wait;           // since the step before
  int buckets;                 // bit i: the i-th bucket is charged
  int limits;                  // the index of a limit set, for kChangeLimits and kOverride
  std::vector<int> per_mille;  // amounts, in thousandths of the capacity; an adjust whose last one
                               // is even stores the limits
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  const char* const kinds[] = {"acquire", "adjust", "repeat the adjust", "change limits",
                               "override"};
  out << "\n  +" << step.wait.count() << " ms: " << kinds[step.kind] << " of buckets "
      << step.buckets << ", limits " << step.limits << ", per mille";
  for (const int amount : step.per_mille) out << ' ' << amount;
  return out;
}

// A store need not remember an adjust for longer.
constexpr milliseconds kRepeatable{600'000};

constexpr int kBuckets = 3;
constexpr int kLimitSets = 5;

rc::Gen<Step::Kind> AnyKind(bool limits_change) {
  const std::size_t changes = limits_change ? 2 : 0;
  return rc::gen::weightedElement<Step::Kind>({{8, Step::kAcquire},
                                               {3, Step::kAdjust},
                                               {1, Step::kRepeatAdjust},
                                               {changes, Step::kChangeLimits},
                                               {2 * changes, Step::kOverride}});
}

// Often 0, which leaves the limit out.
rc::Gen<int> AnyPerMille() {
  return rc::gen::weightedOneOf<int>(
      {{1, rc::gen::just(0)}, {4, rc::gen::resize(100, rc::gen::inRange(0, 600))}});
}

rc::Gen<Step> AnyStep(bool limits_change) {
  const auto kind = AnyKind(limits_change);
  const auto wait =
      rc::gen::map(rc::gen::weightedElement<std::int64_t>(
                       {{4, 0}, {4, 1}, {4, 7}, {4, 1000}, {2, 60'000}, {1, 500'000'000}}),
                   [](std::int64_t millis) { return milliseconds(millis); });
  return rc::gen::construct<Step>(kind, wait, rc::gen::inRange(1, 1 << kBuckets),
                                  rc::gen::inRange(0, kLimitSets),
                                  rc::gen::container<std::vector<int>>(4, AnyPerMille()));
}

// Uses few names, so that sets share some, and small quotas, so that refusals are common.
std::vector<std::vector<Limit>> AnyLimitSets() {
  const auto quota =
      rc::gen::resize(100, rc::gen::construct<Quota>(rc::gen::inRange<std::int64_t>(1, 5000),
                                                     rc::gen::inRange<std::int64_t>(1, 5000),
                                                     rc::gen::inRange<std::int64_t>(1, 20'000)));
  return {{{"a", *quota}},
          {{"a", *quota}, {"b", *quota}},
          {{"c", *quota}, {"b", *quota}},
          {{"b", *quota}, {"a", *quota}, {"d", *quota}},
          {{"d", *quota}, {"e", *quota}}};
}

bool SameBalance(const Meter& a, const Meter& b) {
  return a.quota == b.quota && a.tokens == b.tokens &&
         a.remainder * b.remainder_period == b.remainder * a.remainder_period;
}

// Returns the meters of a record, refilled to `now`, where the model's meters are compared.
std::map<std::string, Owned> ByName(const BucketRecord& record) {
  std::map<std::string, Owned> meters;
  for (std::size_t i = 0; i < record.names.size(); ++i) {
    meters[record.names[i]] = {record.bucket.meters[i], record.bucket.time, true};
  }
  for (const ExtraMeter& extra : record.extras.meters) {
    meters[extra.name] = {extra.meter, extra.time, false};
  }
  return meters;
}

// Checks that a stored bucket agrees with the model; either may lack meters that are full.
void CheckKept(const std::optional<BucketRecord>& record, const MetersByName& expected,
               UnixMillis now) {
  MetersByName kept = record ? ByName(*record) : MetersByName();
  const auto is_full = [now](const auto& named) { return IsFull(named.second, now); };
  if (std::ranges::all_of(expected, is_full)) {
    return RC_ASSERT(std::ranges::all_of(kept, is_full));
  }
  for (const auto& [name, owned] : expected) {
    if (IsFull(owned, now) && !owned.configured) continue;
    const auto found = kept.find(name);
    RC_ASSERT(found != kept.end());
    Owned mine = owned;
    Refill(mine.meter, (now - mine.time).count());
    Refill(found->second.meter, (now - found->second.time).count());
    RC_ASSERT(SameBalance(found->second.meter, mine.meter));
    RC_ASSERT(found->second.configured == mine.configured);
    kept.erase(found);
  }
  for (const auto& [name, owned] : kept) RC_ASSERT(IsFull(owned, now));
}

// A few buckets with their present limits; each call is made on both stores.
class Comparison {
 public:
  Comparison(ContractClient& store, const std::string& entity)
      : store_(store), sets_(AnyLimitSets()) {
    for (int i = 0; i < kBuckets; ++i) {
      // Two buckets of one entity, and one of another.
      const std::string suffix = i == 2 ? "-parent" : "";
      const BucketKey key{entity + suffix, "gpt-4", static_cast<std::uint32_t>(i)};
      targets_.push_back(MakeTarget(key, sets_[static_cast<std::size_t>(i)]));
    }
  }

  void Make(const Step& step) {
    now_ = now_ + step.wait;
    switch (step.kind) {
      case Step::kAcquire:
        return Acquire(Charges(step, targets_, 0));
      case Step::kOverride:
        SettleForgettable();
        return Acquire(Charges(step, Overrides(step), 0));
      case Step::kAdjust:
        SettleForgettable();
        adjust_ = Charges(step, targets_, 300);
        terms_ = store_.NewAdjustId();
        terms_.stores_limits = step.per_mille[3] % 2 == 0;
        adjusted_at_ = now_;
        return Adjust();
      case Step::kRepeatAdjust:
        if (now_ - adjusted_at_ > kRepeatable) return;
        return Adjust();
      case Step::kChangeLimits:
        return ChangeLimits(step);  // `adjust_` keeps a lease from before the change
    }
  }

  void CheckAllKept() {
    std::vector<BucketKey> keys;
    for (const TargetPtr& target : targets_) keys.push_back(target->key);
    const auto read = store_.Read(keys);
    RC_ASSERT(read.has_value());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      CheckKept((*read)[i], model_.Of(keys[i]), now_);
    }
  }

 private:
  static std::vector<Charge> Charges(const Step& step, const std::vector<TargetPtr>& targets,
                                     std::int64_t shift) {
    std::vector<Charge> charges;
    for (int i = 0; i < kBuckets; ++i) {
      if ((step.buckets >> i & 1) == 0) continue;
      charges.push_back({targets[static_cast<std::size_t>(i)], {}});
      for (const Limit& limit : charges.back().target->limits) {
        const std::size_t at = charges.back().amounts.size();
        charges.back().amounts.push_back((step.per_mille[at] - shift) * limit.quota.capacity /
                                         1000);
      }
    }
    return charges;
  }

  // Returns overrides with the names of a set, at twice their configured rate and with a larger or
  // smaller capacity.
  std::vector<TargetPtr> Overrides(const Step& step) const {
    std::vector<Limit> limits = sets_[static_cast<std::size_t>(step.limits)];
    for (Limit& limit : limits) {
      limit.quota.capacity = limit.quota.capacity * (1 + step.per_mille[3] % 4) / 2 + 1;
      limit.quota.amount *= 2;
    }
    std::vector<TargetPtr> targets;
    for (const TargetPtr& target : targets_) {
      targets.push_back(MakeTarget(target->key, limits, LimitSource::kOverride));
    }
    return targets;
  }

  // A full bucket may have been forgotten, and a call without resolved limits would then find no
  // configured ones. So a millitoken is taken first.
  void SettleForgettable() {
    for (const TargetPtr& target : targets_) {
      if (!model_.IsForgettable(target->key, now_)) continue;
      Acquire({{target, std::vector<std::int64_t>(target->limits.size(), 1)}});
    }
  }

  void Acquire(const std::vector<Charge>& charges) {
    const Result<Decision> decision = store_.Acquire(charges, now_);
    RC_ASSERT(decision.has_value());
    const Decision expected = model_.Acquire(charges, now_);
    if (*decision == expected) return;
    RC_FAIL(testing::PrintToString(*decision) + "\ninstead of\n" +
            testing::PrintToString(expected));
  }

  void Adjust() {
    if (adjust_.empty()) return;
    SettleForgettable();
    RC_ASSERT(store_.Adjust(adjust_, terms_, now_).has_value());
    model_.Adjust(adjust_, terms_, now_);
  }

  void ChangeLimits(const Step& step) {
    for (int i = 0; i < kBuckets; ++i) {
      if ((step.buckets >> i & 1) == 0) continue;
      TargetPtr& target = targets_[static_cast<std::size_t>(i)];
      target = MakeTarget(target->key, sets_[static_cast<std::size_t>(step.limits)]);
    }
  }

  ContractClient& store_;
  ObviousStore model_;
  std::vector<std::vector<Limit>> sets_;
  std::vector<TargetPtr> targets_;
  std::vector<Charge> adjust_;
  AdjustTerms terms_ = AdjustId();
  UnixMillis adjusted_at_ = kStart;
  UnixMillis now_ = kStart;
};

void RunSequence(Comparison comparison, bool limits_change) {
  for (const Step& step : *rc::gen::container<std::vector<Step>>(AnyStep(limits_change))) {
    comparison.Make(step);
  }
  comparison.CheckAllKept();
}

// Fails if: a refused request takes from the buckets before the one that refused, a repeated adjust
// counts again, the remainder is dropped at a refill, a bucket is forgotten before it is full, or
// an adjust does not refill first.
TEST_P(StoreContract, AnySequenceOfCallsAgreesWithAnObviousStore) {
  CheckProperty([this] { RunSequence({store_, Fresh("acme")}, false); });
}

// Fails if: a limit that left rejoins full, is not refilled while it was away, or is missed by an
// adjust; a look at tokens stores parameters; a look at an empty bucket, a debit or a refusal
// stores none, or takes tokens; an override changes the parameters of a configured limit, or is
// judged by them; or a bucket is forgotten before the limits that left it are full.
TEST_P(StoreContractRejoin, C2AnySequenceOfLimitsAgreesWithAnObviousStore) {
  CheckProperty([this] { RunSequence({store_, Fresh("acme")}, true); });
}

}  // namespace
}  // namespace weir
