// Random sequences of calls, held against a slow and obvious store.
#include <algorithm>
#include <map>
#include <ostream>

#include "weir/store/contract.h"

namespace weir {
namespace {

using MetersByName = std::map<std::string, Meter>;  // by the name of the limit

// One map, no lock, nothing shared, nothing forgotten; every step on copies.
class ObviousStore {
 public:
  Decision Acquire(const std::vector<Charge>& charges, UnixMillis now) {
    Decision decision{.admitted = true};
    std::map<BucketKey, MetersByName> next;
    for (const Charge& charge : charges) {
      MetersByName& meters = next[charge.target->key];
      for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
        const Limit& limit = charge.target->limits[i];
        const Meter meter = BroughtTo(limit, charge.target->key, now);
        const milliseconds wait = RetryAfter(meter, charge.amounts[i]);
        decision.limits.push_back({charge.target->key.entity, charge.target->key.resource,
                                   limit.name, limit.quota.capacity, meter.tokens,
                                   charge.amounts[i], wait > milliseconds(0), wait});
        decision.retry_after = std::max(decision.retry_after, wait);
        decision.admitted = decision.admitted && wait == milliseconds(0);
        meters[limit.name] = meter;
        Debit(meters[limit.name], charge.amounts[i]);
      }
    }
    if (!decision.admitted) return decision;
    for (auto& [key, meters] : next) buckets_[key] = {now, std::move(meters)};
    return decision;
  }

  void Adjust(const std::vector<Charge>& charges, AdjustToken token, UnixMillis now) {
    if (std::exchange(counted_[token], true)) return;
    for (const Charge& charge : charges) {
      MetersByName meters;
      for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
        const Limit& limit = charge.target->limits[i];
        meters[limit.name] = BroughtTo(limit, charge.target->key, now);
        weir::Adjust(meters[limit.name], charge.amounts[i]);
      }
      buckets_[charge.target->key] = {now, std::move(meters)};
    }
  }

  // The meters of a bucket at `now`; none if it was never used.
  MetersByName At(const BucketKey& key, UnixMillis now) const {
    const auto found = buckets_.find(key);
    if (found == buckets_.end()) return {};
    MetersByName meters = found->second.meters;
    for (auto& [name, meter] : meters) Refill(meter, (now - found->second.time).count());
    return meters;
  }

 private:
  struct Kept {
    UnixMillis time;
    MetersByName meters;
  };

  Meter BroughtTo(const Limit& limit, const BucketKey& key, UnixMillis now) const {
    const MetersByName meters = At(key, now);
    const auto found = meters.find(limit.name);
    if (found == meters.end()) return FullMeter(limit.quota);
    Meter meter = found->second;
    if (meter.quota != limit.quota) ChangeQuota(meter, limit.quota);
    return meter;
  }

  std::map<BucketKey, Kept> buckets_;
  std::map<AdjustToken, bool> counted_;
};

// One call, in numbers that mean something only together with the buckets it meets.
struct Step {
  enum Kind { kAcquire, kAdjust, kRepeatAdjust, kChangeLimits };
  Kind kind;
  milliseconds wait;           // since the step before
  int buckets;                 // bit i: the i-th bucket is charged
  int limits;                  // kChangeLimits: which
  std::vector<int> per_mille;  // amounts, in thousandths of the capacity
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  const char* const kinds[] = {"acquire", "adjust", "repeat the adjust", "change limits"};
  out << "\n  +" << step.wait.count() << " ms: " << kinds[step.kind] << " of buckets "
      << step.buckets << ", limits " << step.limits << ", per mille";
  for (const int amount : step.per_mille) out << ' ' << amount;
  return out;
}

constexpr int kBuckets = 3;
constexpr int kLimitSets = 4;

rc::Gen<Step> AnyStep() {
  const auto kind = rc::gen::weightedElement<Step::Kind>({{8, Step::kAcquire},
                                                          {3, Step::kAdjust},
                                                          {1, Step::kRepeatAdjust},
                                                          {1, Step::kChangeLimits}});
  const auto wait =
      rc::gen::map(rc::gen::weightedElement<std::int64_t>(
                       {{4, 0}, {4, 1}, {4, 7}, {4, 1000}, {2, 60'000}, {1, 500'000'000}}),
                   [](std::int64_t millis) { return milliseconds(millis); });
  return rc::gen::construct<Step>(
      kind, wait, rc::gen::inRange(1, 1 << kBuckets), rc::gen::inRange(0, kLimitSets),
      rc::gen::container<std::vector<int>>(4, rc::gen::resize(100, rc::gen::inRange(0, 600))));
}

// Few names, so that sets share some; small quotas, so that refusals are common.
std::vector<std::vector<Limit>> AnyLimitSets() {
  const auto quota =
      rc::gen::resize(100, rc::gen::construct<Quota>(rc::gen::inRange<std::int64_t>(1, 5000),
                                                     rc::gen::inRange<std::int64_t>(1, 5000),
                                                     rc::gen::inRange<std::int64_t>(1, 20'000)));
  return {{{"a", *quota}},
          {{"a", *quota}, {"b", *quota}},
          {{"c", *quota}, {"b", *quota}},
          {{"b", *quota}, {"a", *quota}, {"d", *quota}}};
}

bool SameBalance(const Meter& a, const Meter& b) {
  return a.quota == b.quota && a.tokens == b.tokens &&
         a.remainder * b.remainder_period == b.remainder * a.remainder_period;
}

// What a store keeps of a bucket agrees with the model; it may have forgotten one that is full.
void CheckKept(const std::optional<BucketRecord>& record, const MetersByName& expected,
               UnixMillis now) {
  const auto full = [](const auto& named) {
    return named.second.tokens == named.second.quota.capacity;
  };
  if (!record) {
    RC_ASSERT(std::ranges::all_of(expected, full));
    return;
  }
  if (expected.empty()) return RC_ASSERT(IsFull(record->bucket, now));
  RC_ASSERT(record->names.size() == expected.size());
  Bucket bucket = record->bucket;
  Refill(bucket, now);
  for (std::size_t i = 0; i < record->names.size(); ++i) {
    const auto found = expected.find(record->names[i]);
    RC_ASSERT(found != expected.end());
    RC_ASSERT(SameBalance(bucket.meters[i], found->second));
  }
}

// A few buckets, their limits of the moment, and a call made on both stores.
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
        return Acquire(Charges(step, 0));
      case Step::kAdjust:
        adjust_ = Charges(step, 300);
        token_ = store_.NewToken();
        return Adjust();
      case Step::kRepeatAdjust:
        return Adjust();
      case Step::kChangeLimits:
        return ChangeLimits(step);
    }
  }

  void CheckAllKept() {
    std::vector<BucketKey> keys;
    for (const TargetPtr& target : targets_) keys.push_back(target->key);
    const auto read = store_.Read(keys);
    RC_ASSERT(read.has_value());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      CheckKept((*read)[i], model_.At(keys[i], now_), now_);
    }
  }

 private:
  std::vector<Charge> Charges(const Step& step, std::int64_t shift) const {
    std::vector<Charge> charges;
    for (int i = 0; i < kBuckets; ++i) {
      if ((step.buckets >> i & 1) == 0) continue;
      charges.push_back({targets_[static_cast<std::size_t>(i)], {}});
      for (const Limit& limit : charges.back().target->limits) {
        const std::size_t at = charges.back().amounts.size();
        charges.back().amounts.push_back((step.per_mille[at] - shift) * limit.quota.capacity /
                                         1000);
      }
    }
    return charges;
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
    RC_ASSERT(store_.Adjust(adjust_, token_, now_).has_value());
    model_.Adjust(adjust_, token_, now_);
  }

  // An acquire of nothing brings each bucket to its new limits at this instant in both stores.
  // (Whether a refused one would have done so is left to the store.)
  void ChangeLimits(const Step& step) {
    std::vector<Charge> charges;
    for (int i = 0; i < kBuckets; ++i) {
      if ((step.buckets >> i & 1) == 0) continue;
      TargetPtr& target = targets_[static_cast<std::size_t>(i)];
      const std::vector<Limit>& limits = sets_[static_cast<std::size_t>(step.limits)];
      target = MakeTarget(target->key, limits);
      charges.push_back({target, std::vector<std::int64_t>(limits.size())});
    }
    // A lease from before the change is corrected elsewhere (contract_adjust.cc).
    adjust_.clear();
    Acquire(charges);
  }

  ContractClient& store_;
  ObviousStore model_;
  std::vector<std::vector<Limit>> sets_;
  std::vector<TargetPtr> targets_;
  std::vector<Charge> adjust_;
  AdjustToken token_;
  UnixMillis now_ = kStart;
};

// Fails if: a refused request takes from the buckets before the one that refused, a repeated adjust
// counts again, the remainder is dropped at a refill or a change of limits, a bucket is forgotten
// before it is full, or an adjust does not refill first.
TEST_P(StoreContract, AnySequenceOfCallsAgreesWithAnObviousStore) {
  CheckProperty([this] {
    Comparison comparison(store_, Fresh("acme"));
    for (const Step& step : *rc::gen::container<std::vector<Step>>(AnyStep())) {
      comparison.Make(step);
    }
    comparison.CheckAllKept();
  });
}

}  // namespace
}  // namespace weir
