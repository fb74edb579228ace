// A refused request, and a look at an empty bucket, store the parameters of their limits, so that
// the wait until the next tokens is correct.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weir/store/bucket/bucket_state.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/store/testing/contract_caller.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

const BucketKey kRefusedKey{"acme", "gpt-4", 0};

TargetPtr ConfiguredAs(const Quota& quota) { return MakeTarget(kRefusedKey, {{"rpm", quota}}); }
TargetPtr OverriddenBy(const std::string& name, const Quota& quota) {
  return MakeTarget(kRefusedKey, {{name, quota}}, LimitSource::kOverride);
}

class BucketRefusal : public testing::Test {
 protected:
  Decision Ask(const TargetPtr& target, std::vector<std::int64_t> tokens, UnixMillis now) {
    Charge charge{target, std::move(tokens)};
    for (std::int64_t& amount : charge.amounts) amount *= kMillitokens;
    auto decision = table_.Acquire({&charge, 1}, now);
    EXPECT_TRUE(decision) << decision.error().message;
    return decision.value_or(Decision());
  }
  /// Checks that the request is refused now and a millisecond before the end of the wait, and
  /// admitted at its end.
  void ExpectTrueWait(const TargetPtr& target, std::int64_t tokens, UnixMillis now) {
    const Decision refused = Ask(target, {tokens}, now);
    ASSERT_FALSE(refused.admitted);
    EXPECT_FALSE(Ask(target, {tokens}, now + refused.retry_after - milliseconds(1)).admitted);
    EXPECT_TRUE(Ask(target, {tokens}, now + refused.retry_after).admitted)
        << refused.retry_after.count() << " ms were told";
  }
  std::size_t Changes() {
    return table_.DrainChanges([](const BucketKey&, const BucketState*, std::uint32_t&) {});
  }

  BucketTable table_{{.track_changes = true}};
};

// Fails if: the old rate refills until some request is admitted.
TEST_F(BucketRefusal, C2ALimitThatIsRaisedRefillsAtItsNewRateFromTheFirstRefusal) {
  const TargetPtr old = ConfiguredAs(
      {.capacity = 1'000'000, .amount = 1'000'000, .period = milliseconds(24h).count()});
  ASSERT_TRUE(Ask(old, {1000}, kStart).admitted);
  const TargetPtr raised =
      ConfiguredAs({.capacity = 1'000'000, .amount = 60'000'000, .period = 60'000});
  ExpectTrueWait(raised, 7, kStart);
}

TEST_F(BucketRefusal, C2ALimitThatIsLoweredRefillsAtItsNewRateFromTheFirstRefusal) {
  ASSERT_TRUE(Ask(ConfiguredAs(PerMinute(600)), {600}, kStart).admitted);
  const TargetPtr lowered =
      ConfiguredAs({.capacity = 600'000, .amount = 600'000, .period = milliseconds(24h).count()});
  ExpectTrueWait(lowered, 9, kStart);
}

TEST_F(BucketRefusal, C2WhatIsStoredIsAChangeAndTakesNothing) {
  ASSERT_TRUE(Ask(ConfiguredAs(PerMinute(60)), {60}, kStart).admitted);
  Changes();
  ASSERT_FALSE(Ask(ConfiguredAs(PerMinute(30)), {1}, kStart).admitted);
  EXPECT_EQ(Changes(), 1U) << "the file has it too";
  const Meter kept = table_.Read(kRefusedKey)->bucket.meters[0];
  EXPECT_EQ(kept.quota, PerMinute(30));
  EXPECT_EQ(kept.tokens, -30 * kMillitokens);
  EXPECT_EQ(kept.consumed, 60 * kMillitokens);
  ASSERT_FALSE(Ask(ConfiguredAs(PerMinute(30)), {1}, kStart).admitted);
  EXPECT_EQ(Changes(), 0U) << "a second refusal has nothing to store";
}

TEST_F(BucketRefusal, ALookAtTokensAndARefusedOverrideStoreNothing) {
  ASSERT_TRUE(Ask(ConfiguredAs(PerMinute(60)), {20}, kStart).admitted);
  Changes();
  EXPECT_TRUE(Ask(ConfiguredAs(PerMinute(30)), {0}, kStart + 1s).admitted);
  EXPECT_FALSE(Ask(OverriddenBy("rpm", PerMinute(30)), {12}, kStart + 1s).admitted);
  EXPECT_EQ(Changes(), 0U);
  EXPECT_EQ(table_.Read(kRefusedKey)->bucket.time, kStart);
}

// Fails if: the owner of the table does not learn that a look has changed a bucket.
TEST_F(BucketRefusal, ALookAtAnEmptyBucketIsAChangeAndADrainIsDue) {
  ASSERT_TRUE(Ask(ConfiguredAs(PerMinute(60)), {60}, kStart).admitted);
  Changes();
  EXPECT_FALSE(table_.TakeDrainDue());
  const Decision look = Ask(ConfiguredAs(PerMinute(30)), {0}, kStart + 1s);
  EXPECT_TRUE(look.admitted);
  EXPECT_EQ(look.limits[0].available, -29 * kMillitokens);
  EXPECT_TRUE(table_.TakeDrainDue());
  EXPECT_EQ(Changes(), 1U);
  EXPECT_EQ(Ask(ConfiguredAs(PerMinute(30)), {0}, kStart + 3s).limits[0].available,
            -28 * kMillitokens);
  EXPECT_EQ(Changes(), 0U) << "a second look has nothing to store";
}

// Fails if: an earlier override decides the rate of a configured limit.
TEST_F(BucketRefusal, C2TheConfiguredParametersHoldFromTheFirstRequestThatNamesThem) {
  const TargetPtr forty = OverriddenBy("rpm", PerSecond(40));
  const TargetPtr twenty = ConfiguredAs(PerSecond(20));
  ASSERT_TRUE(Ask(forty, {40}, kStart).admitted);
  EXPECT_FALSE(Ask(twenty, {1}, kStart).admitted);
  ASSERT_EQ(table_.Read(kRefusedKey)->names, std::vector<std::string>{"rpm"});
  EXPECT_EQ(table_.Read(kRefusedKey)->bucket.meters[0].quota, PerSecond(20));
  // The rate is 20 a second for any request; no amount is above the capacity of the override.
  std::int64_t taken = 0;
  for (int i = 1; i <= 1000; ++i) {
    if (Ask(forty, {1}, kStart + milliseconds(i)).admitted) ++taken;
  }
  EXPECT_EQ(taken, 20);
  EXPECT_EQ(table_.Read(kRefusedKey)->bucket.meters[0].quota, PerSecond(20));
}

TEST_F(BucketRefusal, C2EveryBucketOfARefusedRequestGetsItsParameters) {
  const BucketKey parent{"parent", "gpt-4", 0};
  const auto parent_as = [&](const Quota& quota) { return MakeTarget(parent, {{"rpm", quota}}); };
  ASSERT_TRUE(Ask(ConfiguredAs(PerMinute(60)), {60}, kStart).admitted);
  ASSERT_TRUE(Ask(parent_as(PerMinute(60)), {1}, kStart).admitted);
  const std::vector<Charge> both = {{ConfiguredAs(PerMinute(30)), {1000}},
                                    {parent_as(PerMinute(70)), {1000}}};
  const auto decision = table_.Acquire(both, kStart);
  ASSERT_TRUE(decision && !decision->admitted);
  EXPECT_EQ(table_.Read(parent)->bucket.meters[0].quota, PerMinute(70));
  EXPECT_EQ(table_.Read(parent)->bucket.meters[0].tokens, 69 * kMillitokens);
}

// A limit that joins is refilled to the latest time of the bucket at its old rate.
TEST_F(BucketRefusal, TheWaitHoldsAlsoIfAnotherMeterIsAhead) {
  const Quota slow{.capacity = 10'000, .amount = 1000, .period = 20'000};
  ASSERT_TRUE(Ask(ConfiguredAs(slow), {10}, kStart).admitted);
  ASSERT_TRUE(Ask(OverriddenBy("tpm", PerMinute(60)), {1}, kStart + 40s).admitted);
  ExpectTrueWait(ConfiguredAs({.capacity = 10'000, .amount = 1000, .period = 1000}), 5, kStart);
}

// Fails if: names that leave early keep a configured limit empty although requests ask for it.
TEST_F(BucketRefusal, C2ALimitThatIsAddedIsNotStarvedByNewNames) {
  ASSERT_TRUE(Ask(ConfiguredAs(PerMinute(60)), {1}, kStart).admitted);
  const auto override_at = [&](int second) {
    const Quota slow{.capacity = 60'000, .amount = 1000, .period = 3'600'000};
    const TargetPtr named = OverriddenBy(fmt::format("name-{}", second), slow);
    EXPECT_TRUE(Ask(named, {1}, kStart + std::chrono::seconds(second)).admitted) << second;
  };
  for (int second = 0; second < 100; ++second) override_at(second);
  const TargetPtr both = MakeTarget(kRefusedKey, {{"rpm", PerMinute(60)}, {"tpm", PerMinute(60)}});
  const Decision refused = Ask(both, {1, 30}, kStart + 100s);
  ASSERT_FALSE(refused.admitted);
  const UnixMillis told = kStart + 100s + refused.retry_after;
  for (int second = 100; kStart + std::chrono::seconds(second) < told; ++second)
    override_at(second);
  EXPECT_TRUE(Ask(both, {1, 30}, told).admitted);
}

}  // namespace
}  // namespace weir
