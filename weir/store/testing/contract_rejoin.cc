// Limits that leave a bucket and rejoin it, and limits that only requests name. C2, U1.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <utility>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
constexpr Quota kSixty = PerMinute(60);

Limit Requests(const Quota& quota = kSixty) { return {"requests", quota}; }
Limit Words(const Quota& quota = kSixty) { return {"words", quota}; }

TargetPtr Configured(const TargetPtr& bucket, std::vector<Limit> limits) {
  return MakeTarget(bucket->key, std::move(limits));
}

TargetPtr Override(const TargetPtr& bucket, std::vector<Limit> limits) {
  return MakeTarget(bucket->key, std::move(limits), LimitSource::kOverride);
}

TEST_P(StoreContractRejoin, C2SetsOfLimitsThatTakeTurnsMintNothing) {
  const TargetPtr requests = FreshTarget({Requests()});
  const TargetPtr words = Configured(requests, {Words()});
  ASSERT_TRUE(Ask({Tokens(requests, {60})}, kStart).admitted);
  ASSERT_TRUE(Ask({Tokens(words, {60})}, kStart).admitted);
  EXPECT_FALSE(Ask({Tokens(requests, {1})}, kStart).admitted);
  EXPECT_FALSE(Ask({Tokens(words, {1})}, kStart).admitted);
  EXPECT_TRUE(Ask({Tokens(requests, {1})}, kStart + 1s).admitted);
  EXPECT_TRUE(Ask({Tokens(words, {1})}, kStart + 1s).admitted);
  EXPECT_FALSE(Ask({Tokens(requests, {1})}, kStart + 1s).admitted);
}

TEST_P(StoreContractRejoin, C2OverridesThatTakeTurnsMintNothing) {
  const TargetPtr bucket = FreshTarget({Requests()});
  const TargetPtr requests = Override(bucket, {Requests()});
  const TargetPtr words = Override(bucket, {Words()});
  for (const TargetPtr& each : {requests, words}) {
    ASSERT_TRUE(Ask({Tokens(each, {60})}, kStart).admitted);
  }
  for (const TargetPtr& each : {requests, words}) {
    EXPECT_FALSE(Ask({Tokens(each, {1})}, kStart).admitted);
  }
}

TEST_P(StoreContractRejoin, C2ALimitRejoinsFromWhereItLeft) {
  const TargetPtr both = FreshTarget({Requests(), Words()});
  const TargetPtr requests = Configured(both, {Requests()});
  ASSERT_TRUE(Ask({Tokens(both, {10, 40})}, kStart).admitted);
  ASSERT_TRUE(Ask({Tokens(requests, {1})}, kStart).admitted);
  EXPECT_EQ(Balance(both, kStart), (Balances{49'000, 20'000}));
  EXPECT_EQ(Balance(both, kStart + 10s), (Balances{59'000, 30'000}))
      << "it refills while it is away";
  ASSERT_TRUE(Ask({Tokens(both, {1, 1})}, kStart + 10s).admitted);
  EXPECT_EQ(Balance(both, kStart + 10s), (Balances{58'000, 29'000}));
}

TEST_P(StoreContractRejoin, ALimitThatRejoinsIsRefilledFirstAndThenKeepsWhatIsUsed) {
  const TargetPtr both = FreshTarget({Requests(), Words()});
  ASSERT_TRUE(Ask({Tokens(both, {1, 40})}, kStart).admitted);
  ASSERT_TRUE(Ask({Tokens(Configured(both, {Requests()}), {1})}, kStart).admitted);
  // Ten of the forty came back at the old rate; thirty of the new capacity are used.
  const TargetPtr larger = Configured(both, {Requests(), Words(PerMinute(600))});
  EXPECT_EQ(Balance(larger, kStart + 10s)[1], 570'000);
  ASSERT_TRUE(Ask({Tokens(larger, {1, 70})}, kStart + 10s).admitted);
  EXPECT_EQ(Balance(larger, kStart + 11s)[1], 510'000) << "from then on at the new rate";
}

TEST_P(StoreContractRejoin, ALimitThatWasAwayForItsTimeToFullIsFull) {
  const TargetPtr both = FreshTarget({Requests(), Words()});
  ASSERT_TRUE(Ask({Tokens(both, {1, 60})}, kStart).admitted);
  ASSERT_TRUE(Ask({Tokens(Configured(both, {Requests()}), {1})}, kStart).admitted);
  EXPECT_EQ(Balance(both, kStart + 60s)[1], 60'000);
  const TargetPtr other = Configured(both, {Requests(), Words(PerMinute(7))});
  EXPECT_EQ(Balance(other, kStart + 60s)[1], 7000);
}

TEST_P(StoreContractRejoin, C2ALookBesideALimitForgetsNeitherItNorItsDebt) {
  const TargetPtr both = FreshTarget({Requests(), Words()});
  ASSERT_TRUE(store_.Adjust({Tokens(both, {60, 100})}, kStart));
  for (const TargetPtr& alone :
       {Configured(both, {Requests()}), Override(both, {Requests(PerMinute(1000))})}) {
    EXPECT_EQ(Ask({Tokens(alone, {0})}, kStart).admitted, true);
    Ask({Tokens(alone, {60})}, kStart);
  }
  EXPECT_EQ(Balance(both, kStart)[1], -40'000);
}

TEST_P(StoreContractRejoin, C2ALookAtTokensAndARefusedOverrideStoreNothing) {
  const TargetPtr both = FreshTarget({Requests(), Words()});
  ASSERT_TRUE(Ask({Tokens(both, {25, 10})}, kStart).admitted);
  const auto before = store_.Read({both->key});
  const Limit other{"other", PerMinute(9)};
  const std::vector<TargetPtr> targets = {Configured(both, {Requests(PerMinute(30))}),
                                          Configured(both, {Requests(PerMinute(40)), other}),
                                          Override(both, {Requests(PerMinute(50)), other}),
                                          Configured(both, {Words(), Requests()})};
  for (const TargetPtr& target : targets) {
    std::vector<std::int64_t> nothing(target->limits.size());
    EXPECT_TRUE(Ask({Tokens(target, nothing)}, kStart + 1s).admitted);
    if (target->source != LimitSource::kOverride) continue;
    std::vector<std::int64_t> much(target->limits.size());
    for (std::size_t i = 0; i < much.size(); ++i) {
      if (target->limits[i].name == "requests") much[i] = 40;
    }
    EXPECT_FALSE(Ask({Tokens(target, much)}, kStart + 1s).admitted);
  }
  const auto after = store_.Read({both->key});
  ASSERT_TRUE(before && after);
  EXPECT_EQ(*before, *after);
}

// Fails if: the old rate refills until some request is admitted.
TEST_P(StoreContractRejoin, C2NewParametersHoldFromTheFirstRefusal) {
  const Quota slow{.capacity = 60'000, .amount = 1000, .period = 60'000};
  const Quota quick{.capacity = 60'000, .amount = 60'000, .period = 60'000};
  for (const auto& [before, after] : {std::pair(slow, quick), std::pair(quick, slow)}) {
    const TargetPtr acme = FreshTarget({Requests(before)});
    ASSERT_TRUE(Ask({Tokens(acme, {60})}, kStart).admitted);
    const TargetPtr changed = Configured(acme, {Requests(after)});
    const Decision refused = Ask({Tokens(changed, {2})}, kStart);
    ASSERT_FALSE(refused.admitted);
    const UnixMillis told = kStart + refused.retry_after;
    EXPECT_FALSE(Ask({Tokens(changed, {2})}, told - 1ms).admitted);
    EXPECT_TRUE(Ask({Tokens(changed, {2})}, told).admitted);
  }
}

TEST_P(StoreContractRejoin, ALookMakesNoBucket) {
  const TargetPtr acme = FreshTarget({Requests()});
  EXPECT_TRUE(Ask({Tokens(acme, {0})}, kStart).admitted);
  EXPECT_TRUE(Ask({Tokens(Override(acme, {Words()}), {0})}, kStart).admitted);
  EXPECT_TRUE(Kept({acme->key.entity}).empty());
}

TEST_P(StoreContractRejoin, AnAmountOfZeroChangesNoBucketOfACascade) {
  const TargetPtr child = FreshTarget({Requests()});
  const TargetPtr parent = FreshTarget({Words()});
  EXPECT_TRUE(Ask({Tokens(child, {1}), Tokens(parent, {0})}, kStart).admitted);
  EXPECT_TRUE(Kept({parent->key.entity}).empty());
  EXPECT_EQ(Kept({child->key.entity}).size(), 1U);
}

TEST_P(StoreContractRejoin, AnAdjustReachesALimitThatLeft) {
  const TargetPtr old = FreshTarget({Requests(), Words()});
  ASSERT_TRUE(Ask({Tokens(old, {5, 5})}, kStart).admitted);
  const TargetPtr current = Configured(old, {{"calls", kSixty}, Requests(PerMinute(120))});
  ASSERT_TRUE(Ask({Tokens(current, {1, 1})}, kStart).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(old, {2, 70})}, kStart));
  EXPECT_EQ(Balance(current, kStart), (Balances{59'000, 112'000})) << "no parameters change";
  EXPECT_EQ(Balance(old, kStart)[1], -15'000);
  ASSERT_TRUE(store_.Adjust({Tokens(old, {0, -20})}, kStart));
  EXPECT_EQ(Balance(old, kStart)[1], 5000);
}

TEST_P(StoreContractRejoin, AnAdjustThatFindsNoMeterMakesOne) {
  const TargetPtr old = FreshTarget({Requests(), Words()});
  const TargetPtr current = Configured(old, {Requests()});
  ASSERT_TRUE(Ask({Tokens(current, {1})}, kStart).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(old, {0, 90})}, kStart));
  EXPECT_EQ(Balance(old, kStart), (Balances{59'000, -30'000}));
  EXPECT_EQ(Balance(old, kStart + 10s)[1], -20'000);
  EXPECT_FALSE(Ask({Tokens(Override(old, {Words()}), {1})}, kStart + 30s).admitted);
}

TEST_P(StoreContractRejoin, AnOverrideIsJudgedByItsCapacityAndRefilledAtTheStoredRate) {
  const TargetPtr acme = FreshTarget({Requests()});
  ASSERT_TRUE(Ask({Tokens(acme, {50})}, kStart).admitted);
  // 10 of 60 are left; of 70, there would be 20.
  const TargetPtr larger = Override(acme, {Requests(PerSecond(70))});
  ASSERT_TRUE(Ask({Tokens(larger, {15})}, kStart).admitted);
  EXPECT_EQ(Balance(acme, kStart), Balances{-5000}) << "charged to the configured one";
  const Decision refused = Ask({Tokens(larger, {10})}, kStart);
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.limits[0].available, 5000);
  EXPECT_EQ(refused.limits[0].capacity, 70'000);
  EXPECT_EQ(refused.retry_after, 5s) << "at one a second, not at 70";
  EXPECT_FALSE(Ask({Tokens(larger, {10})}, kStart + 4999ms).admitted);
  EXPECT_TRUE(Ask({Tokens(larger, {10})}, kStart + 5s).admitted);
  const TargetPtr smaller = Override(acme, {Requests(PerSecond(20))});
  EXPECT_EQ(Ask({Tokens(smaller, {1})}, kStart + 50s).retry_after, 6s);
  EXPECT_EQ(Balance(acme, kStart + 50s), Balances{35'000});
}

TEST_P(StoreContractRejoin, AnExtraLimitHasTheParametersOfTheLastThatTook) {
  const TargetPtr acme = FreshTarget({Requests()});
  ASSERT_TRUE(Ask({Tokens(acme, {1})}, kStart).admitted);
  ASSERT_TRUE(Ask({Tokens(Override(acme, {Words()}), {50})}, kStart).admitted);
  const TargetPtr faster = Override(acme, {Words(PerMinute(600))});
  EXPECT_EQ(Balance(faster, kStart), Balances{550'000});
  EXPECT_EQ(Balance(faster, kStart + 10s), Balances{560'000}) << "a look changed no rate";
  ASSERT_TRUE(Ask({Tokens(faster, {10})}, kStart + 10s).admitted);
  EXPECT_EQ(Balance(faster, kStart + 11s), Balances{560'000}) << "from then on ten a second";
  EXPECT_EQ(Balance(acme, kStart + 11s), Balances{60'000}) << "the configured one is untouched";
}

TEST_P(StoreContractRejoin, ALimitOfRequestsBecomesConfiguredFromWhereItIs) {
  const TargetPtr acme = FreshTarget({Requests()});
  ASSERT_TRUE(Ask({Tokens(Override(acme, {Words()}), {50})}, kStart).admitted);
  const TargetPtr both = Configured(acme, {Words(), Requests()});
  ASSERT_TRUE(Ask({Tokens(both, {1, 1})}, kStart).admitted);
  EXPECT_EQ(Balance(both, kStart), (Balances{9000, 59'000}));
}

TEST_P(StoreContractRejoin, ABucketStaysUntilTheLimitThatLeftIsFull) {
  const Limit slow{"slow", {.capacity = 10'000, .amount = 1000, .period = 86'400'000}};
  const TargetPtr both = FreshTarget({Requests(), slow});
  ASSERT_TRUE(Ask({Tokens(both, {1, 10})}, kStart).admitted);
  const TargetPtr requests = Configured(both, {Requests()});
  ASSERT_TRUE(Ask({Tokens(requests, {1})}, kStart).admitted);
  const UnixMillis later = kStart + 86'400'000ms;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(Ask({Tokens(FreshTarget({Requests()}), {1})}, later).admitted);
  }
  EXPECT_EQ(Balance(both, later), (Balances{60'000, 1000}));
}

TEST_P(StoreContractRejoin, MoreLimitsInDebtThanFitAreRefused) {
  const TargetPtr acme = FreshTarget({Requests()});
  const auto named = [&](std::size_t i) {
    return Override(acme, {{fmt::format("extra-{}", i), kSixty}});
  };
  for (std::size_t i = 0; i < kMaxExtraMeters; ++i) {
    ASSERT_TRUE(Ask({Tokens(named(i), {1})}, kStart).admitted);
    ASSERT_TRUE(store_.Adjust({Tokens(named(i), {100 + static_cast<std::int64_t>(i)})}, kStart));
  }
  const auto before = store_.Read({acme->key});
  const Error refused = ErrorOf(store_.Acquire({Tokens(named(20), {1})}, kStart));
  EXPECT_EQ(refused.code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.message, testing::HasSubstr("extra-20"));
  const auto after = store_.Read({acme->key});
  ASSERT_TRUE(before && after);
  EXPECT_EQ(*before, *after);
  // 41 s later the first limit is out of debt, and its meter is removed for the new one.
  EXPECT_TRUE(Ask({Tokens(named(20), {1})}, kStart + 42s).admitted);
  EXPECT_TRUE(Ask({Tokens(acme, {1})}, kStart).admitted) << "configured ones always fit";
}

TEST_P(StoreContractRejoin, AMeterThatLeavesEarlyDoesNotComeBackFuller) {
  const TargetPtr acme = FreshTarget({Requests()});
  const auto named = [&](std::size_t i) {
    return Override(acme, {{fmt::format("extra-{}", i), kSixty}});
  };
  // The first limit is nearest to full, and leaves for the last one.
  for (std::size_t i = 0; i <= kMaxExtraMeters; ++i) {
    const std::int64_t taken = 30 + static_cast<std::int64_t>(i);
    ASSERT_TRUE(Ask({Tokens(named(i), {taken})}, kStart).admitted);
  }
  EXPECT_LE(Balance(named(0), kStart)[0], 30'000);
  EXPECT_FALSE(Ask({Tokens(named(0), {31})}, kStart).admitted);
  EXPECT_LE(Balance(named(0), kStart + 10s)[0], 40'000);
  EXPECT_EQ(Balance(named(0), kStart + 60s)[0], 60'000);
}

}  // namespace
}  // namespace weir
