// Properties of bucket.h, against exact fractions. The proofs are in docs/design/bucket.md.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/bucket/bucket.h"
#include "weir/bucket/testing/arbitrary.h"
#include "weir/bucket/testing/reference_bucket.h"

namespace weir {
namespace {

constexpr std::int64_t kYear2500 = 16'725'225'600'000;

// Returns a time in which about `thousandths` of the capacity comes back, so that refills matter.
std::int64_t TimeFor(const Quota& quota, std::int64_t thousandths) {
  const WideInt fill = WideInt{quota.capacity} * quota.period / quota.amount;
  return static_cast<std::int64_t>(
      std::min(fill * thousandths / 1000 + 1, WideInt{kYear2500 / 100}));
}

std::int64_t AnyStep(const Quota& quota) {
  switch (UniformBelow(6)) {
    case 0:
      return 0;
    case 1:
      return -LogUniformUpTo(100'000);
    case 2:
      return LogUniformUpTo(1000);
    default:
      return TimeFor(quota, UniformBelow(1500));
  }
}

std::int64_t AnyAmount(const Quota& quota) {
  const std::int64_t thousandths = UniformBelow(1001);
  return static_cast<std::int64_t>(WideInt{quota.capacity} * thousandths / 1000);
}

// Returns the exact balance of a meter whose remainder is in its own period.
Fraction Level(const Meter& meter) {
  return Fraction(meter.tokens) + Fraction(meter.remainder, meter.remainder_period);
}

Bucket OneLimit(const Quota& quota) {
  return {.time = UnixMillis(1'767'225'600'013), .meters = {FullMeter(quota)}};
}

// An amount that left the bucket, and when, on a clock that never runs backwards.
struct Event {
  std::int64_t at;
  Fraction amount;
  bool admitted_take;
};

void AssertNeverOver(const std::vector<Event>& events, const Quota& quota) {
  for (std::size_t last = 0; last < events.size(); ++last) {
    if (!events[last].admitted_take) continue;
    Fraction sum;
    for (std::size_t first = last + 1; first-- > 0;) {
      sum = sum + events[first].amount;
      const WideInt length = events[last].at - events[first].at;
      RC_ASSERT(sum <= Fraction(quota.capacity) + Fraction(length * quota.amount, quota.period));
    }
  }
}

// Fails if: Refill(Bucket) moves `time` backwards when now < time, so that the same time refills
// twice. Also if: Earn does not stop at the capacity, or keeps the remainder there.
RC_GTEST_PROP(BucketProperty, NeverOverCapacityPlusRateOnAnyInterval, ()) {
  const Quota quota = AnyQuota();
  Bucket bucket = OneLimit(quota);
  std::vector<Event> events;
  UnixMillis now = bucket.time;
  for (int i = 1 + UniformBelow(40); i > 0; --i) {
    now = now + milliseconds(AnyStep(quota));
    const std::int64_t amount = AnyAmount(quota);
    Refill(bucket, now);
    const Fraction before = Level(bucket.meters[0]);
    const int kind = UniformBelow(4);
    const bool taken = kind > 0 && Take(bucket, {&amount, 1}, now);
    if (kind == 0) Adjust(bucket.meters[0], *rc::gen::element(amount, -amount));
    events.push_back({bucket.time.value, before - Level(bucket.meters[0]), taken && amount > 0});
  }
  AssertNeverOver(events, quota);
}

// Fails if: RetryAfter rounds down, adds 1 ms, or leaves the remainder out.
RC_GTEST_PROP(BucketProperty, RefusedJustBeforeRetryAfterAndAdmittedAtIt, ()) {
  const Quota quota = AnyQuota();
  Meter meter = FullMeter(quota);
  Adjust(meter, AnyAmount(quota) * (1 + UniformBelow(3)));
  Refill(meter, AnyStep(quota));
  const std::int64_t amount = std::max<std::int64_t>(AnyAmount(quota), 1);
  const milliseconds wait = RetryAfter(meter, amount);
  RC_ASSERT((wait == milliseconds(0)) == (Level(meter) >= Fraction(amount)));
  RC_PRE(wait < kLongestWait);
  Bucket early{.time = UnixMillis(0), .meters = {meter}};
  Bucket late = early;
  RC_ASSERT(Take(late, {&amount, 1}, UnixMillis(0) + wait));
  if (wait == milliseconds(0)) return;
  RC_ASSERT(!Take(early, {&amount, 1}, UnixMillis(0) + wait - milliseconds(1)));
}

// Fails if: the remainder is dropped at a refill.
RC_GTEST_PROP(BucketProperty, RefillInStepsIsRefillAtOnce, ()) {
  const Quota quota = AnyQuota();
  Bucket stepwise = OneLimit(quota);
  Adjust(stepwise.meters[0], AnyAmount(quota) * (1 + UniformBelow(3)));
  if (AnyBool()) ChangeQuota(stepwise.meters[0], AnyQuota());
  Bucket at_once = stepwise;
  UnixMillis now = stepwise.time;
  for (int i = 1 + UniformBelow(20); i > 0; --i) {
    now = now + milliseconds(std::max<std::int64_t>(AnyStep(quota), 0));
    Refill(stepwise, now);
  }
  Refill(at_once, now);
  RC_ASSERT(stepwise == at_once);
}

// Fails if: ChangeQuota converts the remainder to the new period at once, or fills the meter.
RC_GTEST_PROP(BucketProperty, ChangeQuotaAndBackIsTheIdentity, ()) {
  const Quota quota = AnyQuota();
  Meter meter = FullMeter(quota);
  Adjust(meter, AnyAmount(quota) * UniformBelow(4));
  Refill(meter, AnyStep(quota));
  const Meter before = meter;
  for (int i = (1 + UniformBelow(3)); i > 0; --i) ChangeQuota(meter, AnyQuota());
  ChangeQuota(meter, quota);
  RC_ASSERT(meter == before);
}

// Fails if: AlignRemainder rounds up, or does not convert the remainder from the old period.
RC_GTEST_PROP(BucketProperty, ANewPeriodLosesLessThanAMillitokenAndMintsNothing, ()) {
  // Periods are at most a day, so that fractions with both periods fit in 63 bits.
  const Quota first{LogUniformUpTo(kMaxMillitokens), LogUniformUpTo(kMaxMillitokens),
                    LogUniformUpTo(86'400'000)};
  Meter meter = FullMeter(first);
  Adjust(meter, AnyAmount(first) * (1 + UniformBelow(3)));
  Refill(meter, AnyStep(first));
  ChangeQuota(meter, AnyQuota());
  ReferenceLimit exact{meter.quota, Level(meter)};
  const std::int64_t elapsed = LogUniformUpTo(kYear2500);
  Refill(meter, elapsed);
  exact.Pass(elapsed);
  RC_ASSERT(Level(meter) <= exact.level);
  RC_ASSERT(Level(meter) > exact.level - Fraction(1));
}

// Fails if: Earn or RetryAfter multiply in 64 bits.
RC_GTEST_PROP(BucketProperty, AgreesWithFractionsAtTheEndsOfTheRange, ()) {
  const auto near = [](std::int64_t end) {
    return std::max<std::int64_t>(end - LogUniformUpTo(1000), 1);
  };
  const Quota quota{near(kMaxMillitokens),
                    *rc::gen::element(near(kMaxMillitokens), LogUniformUpTo(1000)),
                    *rc::gen::element(LogUniformUpTo(1000), near(kMaxPeriodMillis))};
  Meter meter = FullMeter(quota);
  Adjust(meter, *rc::gen::element(near(kMaxDebt), AnyAmount(quota)));
  ReferenceLimit exact{quota, Fraction(meter.tokens)};
  for (const std::int64_t elapsed : {LogUniformUpTo(kYear2500 / 2), kYear2500 / 2}) {
    Refill(meter, elapsed);
    exact.Pass(elapsed);
    RC_ASSERT(Level(meter) == exact.level);
    const std::int64_t amount = quota.capacity;
    const milliseconds wait = RetryAfter(meter, amount);
    ReferenceLimit early = exact;
    early.Pass(wait.count() - 1);
    RC_ASSERT((wait == milliseconds(0)) == early.Admits(amount));
    ReferenceLimit late = exact;
    late.Pass(wait.count());
    RC_ASSERT(wait == kLongestWait || late.Admits(amount));
  }
}

// Fails if: Adjust does not count what it took, or a refill loses its remainder.
RC_GTEST_PROP(BucketProperty, BalanceAndConsumedAreExplainedByRefill, ()) {
  const Quota quota = AnyQuota();
  Bucket bucket = OneLimit(quota);
  Meter& meter = bucket.meters[0];
  ReferenceLimit exact{quota, Fraction(quota.capacity)};
  Fraction gained;
  for (int i = 1 + UniformBelow(30); i > 0; --i) {
    const UnixMillis before = bucket.time;
    const Fraction level = exact.level;
    Refill(bucket, before + milliseconds(AnyStep(quota)));
    exact.Pass((bucket.time - before).count());
    gained = gained + exact.level - level;
    const std::int64_t amount = AnyAmount(quota);
    if (AnyBool()) {
      Adjust(meter, amount);
      exact.Change(amount);
    } else if (Take(bucket, {&amount, 1}, bucket.time)) {
      exact.Change(amount);
    }
  }
  RC_ASSERT(Level(meter) == exact.level);
  RC_ASSERT(Level(meter) + Fraction(meter.consumed) == Fraction(quota.capacity) + gained);
}

// Fails if: Adjust does not stop at the capacity, or keeps the remainder there.
RC_GTEST_PROP(BucketProperty, GivingBackStopsAtTheCapacity, ()) {
  const Quota quota = AnyQuota();
  Meter meter = FullMeter(quota);
  Adjust(meter, AnyAmount(quota));
  Refill(meter, AnyStep(quota));
  ReferenceLimit exact{quota, Level(meter)};
  const std::int64_t amount = AnyBool() ? AnyAmount(quota) : quota.capacity - meter.tokens;
  Adjust(meter, -amount);
  exact.Change(-amount);
  RC_ASSERT(Level(meter) == exact.level);
  RC_ASSERT(meter.tokens < quota.capacity || meter.remainder == 0);
}

// Fails if: Take tests a limit whose amount is 0.
RC_GTEST_PROP(BucketProperty, AnAmountOfZeroIsUntouchedEvenInDebt, ()) {
  const Quota named = AnyQuota();
  const Quota in_debt = AnyQuota();
  Bucket bucket{.time = UnixMillis(7), .meters = {FullMeter(named), FullMeter(in_debt)}};
  Adjust(bucket.meters[1], in_debt.capacity + LogUniformUpTo(kMaxMillitokens));
  const Meter before = bucket.meters[1];
  const std::int64_t amounts[] = {AnyAmount(named), 0};
  RC_ASSERT(Take(bucket, amounts, UnixMillis(7)));
  RC_ASSERT(bucket.meters[1] == before);
}

// Fails if: Take debits a limit before it has tested the next one.
RC_GTEST_PROP(BucketProperty, ARefusalOnlyRefills, ()) {
  Bucket bucket{.time = UnixMillis(7), .meters = {}};
  std::vector<std::int64_t> amounts;
  for (int i = (1 + UniformBelow(3)); i > 0; --i) {
    const Quota quota = AnyQuota();
    bucket.meters.push_back(FullMeter(quota));
    Adjust(bucket.meters.back(), AnyAmount(quota));
    amounts.push_back(AnyAmount(quota));
  }
  Bucket expected = bucket;
  const UnixMillis now = bucket.time + milliseconds(LogUniformUpTo(1000));
  Refill(expected, now);
  if (!Take(bucket, amounts, now)) RC_ASSERT(bucket == expected);
}

bool AllAtCapacity(const Bucket& bucket) {
  return std::all_of(bucket.meters.begin(), bucket.meters.end(),
                     [](const Meter& meter) { return meter.tokens == meter.quota.capacity; });
}

// Fails if: FullAt ignores a limit, or is a millisecond early or late.
RC_GTEST_PROP(BucketProperty, FullAtIsTheFirstInstantAtWhichAllAreFull, ()) {
  Bucket bucket{.time = UnixMillis(7), .meters = {}};
  for (int i = 1 + UniformBelow(3); i > 0; --i) {
    const Quota quota = AnyQuota();
    bucket.meters.push_back(FullMeter(quota));
    Debit(bucket.meters.back(), AnyAmount(quota));
  }
  const UnixMillis full = FullAt(bucket);
  RC_PRE(full < bucket.time + kLongestWait);
  RC_ASSERT((full == bucket.time) == AllAtCapacity(bucket));
  RC_ASSERT(IsFull(bucket, full));
  RC_ASSERT(!IsFull(bucket, full - milliseconds(1)));
  Bucket early = bucket;
  Refill(early, full - milliseconds(1));
  RC_ASSERT(full == bucket.time || !AllAtCapacity(early));
  Refill(bucket, full);
  RC_ASSERT(AllAtCapacity(bucket));
}

}  // namespace
}  // namespace weir
