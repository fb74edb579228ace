// For any item of a bucket, the decision about a take and the tokens that it leaves agree with
// exact fractions.
#include "weir/rate_limiter_py/tokens/token_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/bucket/testing/arbitrary.h"
#include "weir/rate_limiter_py/testing/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

// A bucket as of kStart, with or without a lastRefill.
struct AnyBucket {
  AccountLimit limit;
  TokenImage image;

  Fraction Level() const {
    const Meter meter = MeterOf(image, QuotaOf(limit));
    return Fraction(meter.tokens) + Fraction(meter.remainder, meter.remainder_period);
  }
  ReferenceLimit Reference() const {
    const Quota quota = QuotaOf(limit);
    return {.quota = quota, .level = std::min(Level(), Fraction(quota.capacity))};
  }
};

AnyBucket DrawBucket() {
  const int limit = 1 + UniformBelow(50);
  const int window = 1000 * (1 + UniformBelow(200));
  AnyBucket bucket{.limit = {limit, std::chrono::seconds(window / 1000)},
                   .image = {.last_token = kStart.value}};
  bucket.image.tokens = UniformBelow(limit + 20) - 10;
  if (UniformBelow(4) == 0) {
    bucket.image.tokens -= limit;
    return bucket;
  }
  bucket.image.last_refill = kStart.value;
  // With another refill, the following are ignored.
  bucket.image.refill = kStart.value - (UniformBelow(3) == 0 ? 1 : 0);
  bucket.image.limit = limit;
  bucket.image.window = window;
  bucket.image.part = UniformBelow(window);
  bucket.image.parts = window;
  return bucket;
}

dynamo::Item ItemOf(const TokenImage& image) {
  dynamo::Item item{{std::string(kTokens), dynamo::Of(image.tokens)}};
  const auto set = [&](std::string_view name, const std::optional<std::int64_t>& number) {
    if (number) item.insert_or_assign(std::string(name), dynamo::Of(*number));
  };
  set(kLastRefill, image.last_refill);
  set(kLastToken, image.last_token);
  set(kOurRefill, image.refill);
  set(kOurLimit, image.limit);
  set(kOurWindow, image.window);
  set(kOurPart, image.part);
  set(kOurParts, image.parts);
  return item;
}

RC_GTEST_PROP(TokenPlan, WhatIsWrittenIsRead, ()) {
  const AnyBucket bucket = DrawBucket();
  const auto read = ReadImage(kKey, ItemOf(bucket.image));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->has_value());
  RC_ASSERT(**read == bucket.image);
}

RC_GTEST_PROP(TokenPlan, DecidesAsFractionsDo, ()) {
  const AnyBucket bucket = DrawBucket();
  const std::int64_t later = UniformBelow(300'000);
  const std::int64_t count = 1 + UniformBelow(static_cast<int>(bucket.limit.limit));
  ReferenceLimit reference = bucket.Reference();
  reference.Pass(later);
  const TokenPlan plan = PlanTake(bucket.image, {.key = kKey,
                                                 .limit = bucket.limit,
                                                 .count = count,
                                                 .now = kStart + milliseconds(later),
                                                 .take = "f00d"});
  RC_ASSERT(plan.result.taken == reference.Admits(count));
  RC_ASSERT(plan.write.has_value() == plan.result.taken);
  if (plan.result.taken) {
    reference.Change(count);
  } else {
    ReferenceLimit waited = reference;
    waited.Pass(plan.result.retry_after.count() - 1);
    RC_ASSERT(!waited.Admits(count));
    waited.Pass(1);
    RC_ASSERT(waited.Admits(count));
  }
  RC_ASSERT(WideInt{plan.result.available} == reference.level.floor());
}

RC_GTEST_PROP(TokenPlan, LeavesTheExactBalance, ()) {
  const AnyBucket bucket = DrawBucket();
  const std::int64_t later = UniformBelow(300'000);
  TokenSim sim;
  dynamo::Item item = ItemOf(bucket.image);
  item.merge(dynamo::ToItem(TableKeyOf(kKey), sim.layouts.tokens.keys));
  sim.sim.Put(item);
  ReferenceLimit reference = bucket.Reference();
  reference.Pass(later);
  const auto result = sim.Take(later, 1, bucket.limit);
  RC_ASSERT(result.has_value());
  RC_ASSERT(result->taken == reference.Admits(1));
  RC_PRE(result->taken);
  reference.Change(1);

  const AnyBucket left{.limit = bucket.limit, .image = **ReadImage(kKey, *sim.Item())};
  RC_ASSERT(KnowsQuota(left.image));
  ReferenceLimit stored = left.Reference();
  stored.Pass(later - (TimeOf(left.image) - kStart).count());
  RC_ASSERT(stored.level == reference.level);
}

}  // namespace
}  // namespace weir::rate_limiter_py
