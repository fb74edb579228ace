// Acquires: decisions, reports and waits.
#include <chrono>
#include <utility>

#include "weir/base/bucket_time.h"
#include "weir/store/testing/contract.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// Returns the status of a limit that had `available` tokens when `requested` were requested.
LimitStatus StatusOf(const TargetPtr& target, std::size_t limit, std::int64_t available,
                     std::int64_t requested) {
  return {.entity = target->key.entity,
          .resource = target->key.resource,
          .limit = target->limits[limit].name,
          .capacity = target->limits[limit].quota.capacity,
          .available = available * kMillitokens,
          .requested = requested * kMillitokens};
}

LimitStatus Short(LimitStatus status, milliseconds wait) {
  status.exceeded = true;
  status.retry_after = wait;
  return status;
}

// The same bucket with other limits.
TargetPtr With(const TargetPtr& target, std::vector<Limit> limits) {
  return MakeTarget(target->key, std::move(limits));
}

TEST_P(StoreContract, UnknownBucketIsFull) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  EXPECT_EQ(Ask({Tokens(acme, {10, 400})}, kStart),
            (Decision{.admitted = true,
                      .retry_after = 0ms,
                      .limits = {StatusOf(acme, 0, 10, 10), StatusOf(acme, 1, 1000, 400)}}));
}

TEST_P(StoreContract, TakesWhatIsAskedAndReportsWhatWasThere) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  EXPECT_TRUE(Ask({Tokens(acme, {1, 400})}, kStart).admitted);
  const Decision second = Ask({Tokens(acme, {2, 600})}, kStart);
  EXPECT_TRUE(second.admitted);
  EXPECT_EQ(second.limits, (std::vector{StatusOf(acme, 0, 9, 2), StatusOf(acme, 1, 600, 600)}));
  EXPECT_EQ(Balance(acme, kStart), (Balances{7000, 0}));
}

TEST_P(StoreContract, RefusalReportsEveryLimitOfEveryBucketInOrder) {
  const TargetPtr child = FreshTarget({Rpm(10), Tpm(1000)});
  const TargetPtr parent = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(parent, {58}), Tokens(child, {9, 100})}, kStart).admitted);
  // The child lacks 1 of 10 in a minute, the parent 1 of 60 in a minute.
  EXPECT_EQ(Ask({Tokens(child, {2, 900}), Tokens(parent, {3})}, kStart),
            (Decision{.admitted = false,
                      .retry_after = 6s,
                      .limits = {Short(StatusOf(child, 0, 1, 2), 6s), StatusOf(child, 1, 900, 900),
                                 Short(StatusOf(parent, 0, 2, 3), 1s)}}));
}

TEST_P(StoreContract, TakesNothingWhicheverBucketRefuses) {
  for (std::size_t refusing = 0; refusing < 3; ++refusing) {
    SCOPED_TRACE(refusing);
    std::vector<TargetPtr> chain;
    std::vector<Charge> charges;
    for (int i = 0; i < 3; ++i) {
      chain.push_back(FreshTarget({Rpm(10), Tpm(1000)}));
      charges.push_back(Tokens(chain.back(), {2, 5}));
    }
    ASSERT_TRUE(Ask({Tokens(chain[refusing], {9, 0})}, kStart).admitted);
    EXPECT_FALSE(Ask(charges, kStart).admitted);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(Balance(chain[i], kStart), (Balances{i == refusing ? 1000 : 10'000, 1'000'000}));
    }
  }
}

TEST_P(StoreContract, ABucketIsNamedByEntityResourceAndShard) {
  const BucketKey key{.entity = Fresh("acme"), .resource = "gpt-4", .shard = 0};
  const std::vector<BucketKey> others = {
      {Fresh("acme"), "gpt-4", 0}, {key.entity, "gpt-5", 0}, {key.entity, "gpt-4", 1}};
  ASSERT_TRUE(Ask({Tokens(MakeTarget(key, {Rpm(10)}), {10})}, kStart).admitted);
  for (const BucketKey& other : others) {
    EXPECT_EQ(Balance(MakeTarget(other, {Rpm(10)}), kStart), Balances{10'000});
  }
  EXPECT_EQ(Balance(MakeTarget(key, {Rpm(10)}), kStart), Balances{0});
}

TEST_P(StoreContract, WhatIsTakenComesBackToTheMillitoken) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  ASSERT_TRUE(Ask({Tokens(acme, {10, 1000})}, kStart).admitted);
  // One limit earns a millitoken every 6 ms, the other 100, however often they are read.
  for (int i = 1; i < 6; ++i) EXPECT_EQ(Balance(acme, kStart + milliseconds(i))[0], 0);
  EXPECT_EQ(Balance(acme, kStart + 6ms), (Balances{1, 100}));
  EXPECT_EQ(Balance(acme, kStart + 59'999ms), (Balances{9999, 999'983}));
  EXPECT_EQ(Balance(acme, kStart + 60s), (Balances{10'000, 1'000'000}));
  EXPECT_EQ(Balance(acme, kStart + 90s), (Balances{10'000, 1'000'000}));
}

TEST_P(StoreContract, WaitsAreRoundedUpToWholeMilliseconds) {
  // A millitoken every 10/3 ms.
  const TargetPtr acme = FreshTarget({{"rpm", {.capacity = 2, .amount = 3, .period = 10}}});
  ASSERT_TRUE(Ask({Milli(acme, {2})}, kStart).admitted);
  EXPECT_EQ(Ask({Milli(acme, {1})}, kStart).retry_after, 4ms);
  EXPECT_EQ(Ask({Milli(acme, {1})}, kStart + 3ms).retry_after, 1ms);
  EXPECT_TRUE(Ask({Milli(acme, {1})}, kStart + 4ms).admitted);
  // 2/10 of a millitoken were left over, so the next comes 3 ms later.
  EXPECT_EQ(Ask({Milli(acme, {1})}, kStart + 4ms).retry_after, 3ms);
}

TEST_P(StoreContract, AmountOfZeroIsNeitherTestedNorTaken) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {25, 0})}, kStart));
  const Decision decision = Ask({Tokens(acme, {0, 5})}, kStart);
  EXPECT_TRUE(decision.admitted);
  EXPECT_EQ(decision.limits, (std::vector{StatusOf(acme, 0, -15, 0), StatusOf(acme, 1, 1000, 5)}));
  EXPECT_EQ(Balance(acme, kStart), (Balances{-15'000, 995'000}));
}

// ThreadSanitizer tracks at most 64 locks of one thread, and aborts if there are more.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_FEW_LOCKS
#endif
#endif
#if defined(WEIR_FEW_LOCKS) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kMaxAtOnce = 60;
#else
constexpr std::size_t kMaxAtOnce = kMaxCharges;
#endif

TEST_P(StoreContract, TakesUpToTheMostChargesAtOnce) {
  std::vector<Charge> charges;
  for (std::size_t i = 0; i < kMaxAtOnce; ++i) {
    charges.push_back(Tokens(FreshTarget({Rpm(10)}), {3}));
  }
  const Decision decision = Ask(charges, kStart);
  EXPECT_TRUE(decision.admitted);
  EXPECT_EQ(decision.limits.size(), kMaxAtOnce);
  for (const Charge& charge : charges) EXPECT_EQ(Balance(charge.target, kStart), Balances{7000});
}

TEST_P(StoreContract, BadRequestsAreRefusedAndChangeNothing) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  const TargetPtr globex = FreshTarget({Rpm(10), Tpm(1000)});
  std::vector<Charge> too_many = {Tokens(acme, {1, 1})};
  while (too_many.size() <= kMaxCharges) too_many.push_back(Tokens(FreshTarget({Rpm(10)}), {1}));
  ASSERT_TRUE(Ask({Tokens(acme, {2, 2}), Tokens(globex, {3, 3})}, kStart).admitted);
  const std::vector<std::pair<const char*, std::vector<Charge>>> bad = {
      {"no charge", {}},
      {"over the capacity", {Tokens(acme, {1, 1}), Milli(globex, {10'001, 0})}},
      {"negative", {Tokens(acme, {1, 1}), Milli(globex, {1, -1})}},
      {"an amount is missing", {Tokens(acme, {1, 1}), Tokens(globex, {1})}},
      {"an amount too many", {Tokens(acme, {1, 1}), Tokens(globex, {1, 1, 0})}},
      {"one bucket twice", {Tokens(acme, {1, 1}), Tokens(globex, {1, 1}), Tokens(acme, {1, 1})}},
      {"the same by another name", {Tokens(acme, {1, 1}), Tokens(With(acme, {Rpm(9)}), {1})}},
      {"too many", too_many},
  };
  for (const auto& [what, charges] : bad) {
    SCOPED_TRACE(what);
    EXPECT_EQ(ErrorOf(store_.Acquire(charges, kStart)).code, Code::kInvalidArgument);
  }
  EXPECT_EQ(Balance(acme, kStart), (Balances{8000, 998'000}));
  EXPECT_EQ(Balance(globex, kStart), (Balances{7000, 997'000}));
  EXPECT_TRUE(Kept({too_many[1].target->key.entity}).empty());
}

TEST_P(StoreContract, BadRequestIsToldWhatIsWrong) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  const std::string message = ErrorOf(store_.Acquire({Tokens(acme, {1, 1001})}, kStart)).message;
  for (const std::string& part : {acme->key.entity, std::string("gpt-4"), std::string("tpm")}) {
    EXPECT_NE(message.find(part), message.npos) << message;
  }
  EXPECT_EQ(message.find('\n'), message.npos);
}

// Fails if: RetryAfter rounds down, is that of the last charge or of the shortest wait, or ignores
// the remainder already earned.
TEST_P(StoreContract, RefusedUntilRetryAfterAndAdmittedAtIt) {
  CheckProperty([this] {
    const auto any = [](std::int64_t low, std::int64_t high) {
      return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
    };
    const auto quota =
        rc::gen::construct<Quota>(any(1, 1'000'000), any(1, 1'000'000), any(1, 1'000'000));
    std::vector<Charge> take;
    std::vector<Charge> ask;
    for (std::int64_t buckets = *any(1, 3); buckets > 0; --buckets) {
      const std::vector<Limit> limits = {{"a", *quota}, {"b", *quota}};
      const TargetPtr target = FreshTarget(limits);
      take.push_back(Milli(target, {}));
      ask.push_back(Milli(target, {}));
      for (const Limit& limit : limits) {
        take.back().amounts.push_back(*any(0, limit.quota.capacity));
        ask.back().amounts.push_back(*any(0, limit.quota.capacity));
      }
    }
    RC_ASSERT(Ask(take, kStart).admitted);
    const UnixMillis now = kStart + milliseconds(*any(0, 1000));
    const Decision refused = Ask(ask, now);
    RC_PRE(!refused.admitted);
    RC_ASSERT(refused.retry_after > 0ms);
    const Decision before = Ask(ask, now + refused.retry_after - 1ms);
    RC_ASSERT(!before.admitted);
    RC_ASSERT(before.retry_after == 1ms);
    RC_ASSERT(Ask(ask, now + refused.retry_after).admitted);
  });
}

// A time that is further ahead was written under a wrong clock (bucket_time.h).
TEST_P(StoreContract, TimeThatRunsBackwardsGivesNothing) {
  const TargetPtr acme = FreshTarget({Rpm(10)});
  ASSERT_TRUE(Ask({Tokens(acme, {10})}, kStart).admitted);
  for (const milliseconds back : {1ms, 10'000ms, kMaxAhead}) {
    EXPECT_EQ(Balance(acme, kStart - back), Balances{0});
    EXPECT_FALSE(Ask({Milli(acme, {1})}, kStart - back).admitted);
  }
  // Tokens do not come back twice when the clock is right again.
  EXPECT_EQ(Balance(acme, kStart + 6s), Balances{1000});
}

TEST_P(StoreContract, OtherParametersKeepWhatIsUsed) {
  const TargetPtr acme = FreshTarget({Rpm(100)});
  ASSERT_TRUE(Ask({Tokens(acme, {30})}, kStart).admitted);
  EXPECT_EQ(Balance(With(acme, {Rpm(50)}), kStart), Balances{20'000});
  EXPECT_EQ(Balance(With(acme, {Rpm(200)}), kStart), Balances{170'000});
  EXPECT_EQ(Balance(With(acme, {Rpm(10)}), kStart), Balances{-20'000});
  EXPECT_FALSE(Ask({Milli(With(acme, {Rpm(10)}), {1})}, kStart).admitted);
  EXPECT_EQ(Balance(acme, kStart), Balances{70'000});
}

TEST_P(StoreContract, TimeBeforeAChangeOfParametersCountsAtTheOldRate) {
  const TargetPtr acme = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(acme, {60})}, kStart).admitted);
  const TargetPtr faster = With(acme, {Rpm(600)});
  const Decision first = Ask({Tokens(faster, {1})}, kStart + 10s);
  EXPECT_EQ(first.limits, std::vector{StatusOf(faster, 0, 550, 1)});  // 50 of 60 are still used
  EXPECT_EQ(Balance(faster, kStart + 11s), Balances{559'000});
}

TEST_P(StoreContract, LimitsAreKnownByNameNotByPlace) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  ASSERT_TRUE(Ask({Tokens(acme, {4, 100})}, kStart).admitted);
  const TargetPtr turned = With(acme, {Tpm(1000), Rpm(10)});
  EXPECT_EQ(Balance(turned, kStart), (Balances{900'000, 6000}));
  ASSERT_TRUE(Ask({Tokens(turned, {100, 1})}, kStart).admitted);
  EXPECT_EQ(Balance(acme, kStart), (Balances{5000, 800'000}));
}

}  // namespace
}  // namespace weir
