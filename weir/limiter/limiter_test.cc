#include "weir/limiter/limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LimiterTest : public ::testing::Test {
 protected:
  void Apply(std::vector<ConfigChange> changes) {
    const Status applied = limiter_.Apply(std::move(changes), Deadline::Never());
    ASSERT_TRUE(applied) << applied.error().message;
  }
  Result<Outcome> Ask(std::string_view entity, Amounts amounts) {
    return limiter_.Acquire({.entity = entity, .resource = "gpt-4", .amounts = std::move(amounts)},
                            Deadline::Never());
  }
  /// Returns whether the request was admitted. Its lease is committed.
  bool Take(std::string_view entity, Amounts amounts) {
    auto outcome = Ask(entity, std::move(amounts));
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome && outcome->admitted();
  }
  Error ErrorOf(const AcquireRequest& request) {
    const auto outcome = limiter_.Acquire(request, Deadline::Never());
    EXPECT_FALSE(outcome);
    return outcome ? Error{} : outcome.error();
  }
  /// Returns the tokens left of a limit; nullopt for a bucket that was never used.
  std::optional<std::int64_t> Left(const std::string& entity, const std::string& limit) {
    std::optional<std::int64_t> left;
    const BucketKey key{entity, "gpt-4"};
    memory_->buckets().Read({&key, 1}, Deadline::Never(), [&](auto records) {
      if (!records->front()) return;
      const BucketRecord& record = *records->front();
      for (std::size_t i = 0; i < record.names.size(); ++i) {
        if (record.names[i] == limit) left = record.bucket.meters[i].tokens / kMillitokens;
      }
    });
    return left;
  }

  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  ProbeBackend store_{*memory_};
  Limiter limiter_{store_, scheduler_, {.seed = 1}};
};

TEST_F(LimiterTest, AdmitsUntilTheLimitIsReachedAndTellsTheWait) {
  Apply({Put(Level::System(), RpmLimits(6))});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Take("acme", {{"rpm", 2}}));
  const auto refused = Ask("acme", {{"rpm", 2}});
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->admitted());
  EXPECT_FALSE(refused->unprotected());
  EXPECT_EQ(refused->decision().retry_after, milliseconds(20'000));
  scheduler_.Advance(milliseconds(19'999));
  EXPECT_FALSE(Take("acme", {{"rpm", 2}}));
  scheduler_.Advance(milliseconds(1));
  EXPECT_TRUE(Take("acme", {{"rpm", 2}}));
}

TEST_F(LimiterTest, TheCallbackFormAnswersOnceBeforeItReturnsWhereTheStoreDoes) {
  Apply({Put(Level::System(), RpmLimits(6))});
  int results = 0;
  for (int i = 0; i < 2; ++i) {  // unknown pair, known pair
    limiter_.Acquire({.entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}}},
                     Deadline::Never(), [&](Result<Outcome> outcome) {
                       EXPECT_TRUE(outcome && outcome->admitted());
                       ++results;
                     });
    EXPECT_EQ(results, i + 1);
  }
}

TEST_F(LimiterTest, TheCallersTextsMayGoWhileTheStoreThinks) {
  Apply({Put(Level::System(), RpmLimits(6))});
  store_.hold = true;
  int results = 0;
  {
    std::string entity = "a-rather-long-name-of-an-entity";
    std::string resource = "a-rather-long-name-of-a-resource";
    AcquireRequest request{
        .entity = entity, .resource = resource, .amounts = {{"rpm", 1}}, .wait = true};
    limiter_.Acquire(request, Deadline::Never(), [&](Result<Outcome> outcome) {
      EXPECT_TRUE(outcome && outcome->admitted());
      ++results;
    });
    entity.assign(entity.size(), 'x');
    resource.assign(resource.size(), 'x');
  }
  while (store_.held() > 0) store_.Release();
  EXPECT_EQ(results, 1);
  ASSERT_EQ(store_.acquires.size(), 1U);
  EXPECT_EQ(store_.acquires[0].charges[0].target->key.entity, "a-rather-long-name-of-an-entity");
}

TEST_F(LimiterTest, TheStoreIsGivenTheWallClockAndTheDeadline) {
  Apply({Put(Level::System(), RpmLimits(6))});
  const Deadline deadline = Deadline::After(scheduler_.clock(), milliseconds(50));
  ASSERT_TRUE(
      limiter_.Acquire({.entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}}}, deadline));
  ASSERT_EQ(store_.acquires.size(), 1U);
  EXPECT_EQ(store_.acquires[0].now, scheduler_.clock().WallNow());
  EXPECT_EQ(store_.acquires[0].deadline, deadline);
}

TEST_F(LimiterTest, ChargesAllAncestorsOrNobody) {
  Apply(
      {PutChild("a", "p"), PutChild("b", "p"), PutChild("p", "g"),
       Put(Level::EntityDefault("a"), RpmLimits(10)), Put(Level::EntityDefault("b"), RpmLimits(10)),
       Put(Level::EntityDefault("p"), RpmLimits(8)), Put(Level::EntityDefault("g"), RpmLimits(5))});
  EXPECT_TRUE(Take("a", {{"rpm", 4}}));
  EXPECT_EQ(Left("a", "rpm"), 6);
  EXPECT_EQ(Left("p", "rpm"), 4);
  EXPECT_EQ(Left("g", "rpm"), 1);
  const auto refused = Ask("b", {{"rpm", 2}});
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->admitted());
  EXPECT_NE(Left("b", "rpm").value_or(10), 8) << "b itself had enough and must not be charged";
  EXPECT_EQ(Left("p", "rpm"), 4);
  ASSERT_EQ(refused->decision().limits.size(), 3U);
  EXPECT_EQ(refused->decision().limits[2].entity, "g");
  EXPECT_TRUE(refused->decision().limits[2].exceeded);
  EXPECT_EQ(store_.acquires.back().charges.size(), 3U) << "one call, three charges";
}

// W4: in zae-limiter an exhausted parent raised InvalidNameError, so the request was reported as
// "unavailable" or admitted, depending on the policy.
TEST_F(LimiterTest, RegressionW4AnExhaustedParentIsARefusalThatNamesIt) {
  Apply({Put(Level::System(), RpmLimits(3), OnUnavailable::kAllow), PutChild("a", "p"),
         Put(Level::EntityDefault("a"), RpmLimits(100))});
  EXPECT_TRUE(Take("a", {{"rpm", 3}}));
  const auto refused = Ask("a", {{"rpm", 1}});
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->admitted());
  EXPECT_FALSE(refused->decision().limits[0].exceeded);
  EXPECT_EQ(refused->decision().limits[1].entity, "p");
  EXPECT_TRUE(refused->decision().limits[1].exceeded);
  EXPECT_EQ(refused->decision().retry_after, milliseconds(20'000));
}

// W5: in zae-limiter limits that came with the request were ignored once the bucket existed.
TEST_F(LimiterTest, RegressionW5LimitsOfTheRequestHoldForTheOwnBucketOnly) {
  Apply({PutChild("a", "p"), Put(Level::System(), RpmLimits(100))});
  EXPECT_TRUE(Take("a", {{"rpm", 10}}));
  const AcquireRequest request{
      .entity = "a", .resource = "gpt-4", .amounts = {{"rpm", 5}}, .limits = RpmLimits(12)};
  const auto refused = limiter_.Acquire(request, Deadline::Never());
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->admitted()) << "10 of 12 are used";
  ASSERT_EQ(refused->decision().limits.size(), 1U);
  EXPECT_EQ(refused->decision().limits[0].available, 2000);
  EXPECT_EQ(Left("p", "rpm"), 90);
}

TEST_F(LimiterTest, C2TheStoreIsAskedWhoNamedTheLimits) {
  Apply({PutChild("a", "p"), Put(Level::System(), RpmLimits(100))});
  EXPECT_TRUE(Take("a", {{"rpm", 1}}));
  for (const Charge& charge : store_.acquires.back().charges) {
    EXPECT_EQ(charge.target->source, LimitSource::kConfigured) << charge.target->key.entity;
  }
  const AcquireRequest request{
      .entity = "a", .resource = "gpt-4", .amounts = {{"rpm", 5}}, .limits = RpmLimits(12)};
  ASSERT_TRUE(limiter_.Acquire(request, Deadline::Never()));
  EXPECT_EQ(store_.acquires.back().charges.front().target->source, LimitSource::kOverride);
}

TEST_F(LimiterTest, LimitsOfTheRequestNeedNoneThatAreSet) {
  AcquireRequest request{
      .entity = "a", .resource = "gpt-4", .amounts = {{"rpm", 5}}, .limits = RpmLimits(5)};
  EXPECT_TRUE(limiter_.Acquire(request, Deadline::Never())->admitted());
  EXPECT_EQ(store_.config_reads(), 0U);
  request.limits = std::vector<Limit>{};
  EXPECT_EQ(ErrorOf(request).code, Code::kInvalidArgument);
  request.limits = std::vector<Limit>{{"rpm", {0, 1, 1}}};
  EXPECT_EQ(ErrorOf(request).code, Code::kInvalidArgument);
  request.limits = RpmLimits(5);
  request.entity = "not valid";
  EXPECT_EQ(ErrorOf(request).code, Code::kInvalidArgument);
}

// W8: in zae-limiter a limit that was added to a level broke the buckets that existed.
TEST_F(LimiterTest, RegressionW8ALimitThatIsAddedWorksOnOldBuckets) {
  Apply({Put(Level::System(), RpmLimits(10))});
  EXPECT_TRUE(Take("acme", {{"rpm", 4}}));
  Apply({Put(Level::System(), {{"rpm", PerMinute(10)}, {"tpm", PerMinute(100)}})});
  EXPECT_TRUE(Take("acme", {{"rpm", 1}, {"tpm", 60}}));
  EXPECT_EQ(Left("acme", "rpm"), 5);
  EXPECT_EQ(Left("acme", "tpm"), 40);
  EXPECT_FALSE(Take("acme", {{"tpm", 41}}));
}

// W23: in zae-limiter buckets kept the parameters with which they were created.
TEST_F(LimiterTest, RegressionW23NewLimitsReachOldBucketsAtOnce) {
  Apply({Put(Level::System(), RpmLimits(10))});
  EXPECT_TRUE(Take("acme", {{"rpm", 8}}));
  Apply({Put(Level::System(), RpmLimits(20))});
  EXPECT_TRUE(Take("acme", {{"rpm", 12}}));
  EXPECT_FALSE(Take("acme", {{"rpm", 1}}));
  Apply({Put(Level::Resource("gpt-4"), RpmLimits(30))});
  EXPECT_TRUE(Take("acme", {{"rpm", 10}}));
  EXPECT_FALSE(Take("acme", {{"rpm", 1}}));
}

TEST_F(LimiterTest, WhatCanNeverSucceedIsAnErrorAndChangesNothing) {
  Apply({PutChild("a", "p"), Put(Level::System(), {{"rpm", PerMinute(10)}, {"tpm", PerMinute(9)}}),
         Put(Level::EntityDefault("p"), RpmLimits(5))});
  const auto error = [&](Amounts amounts) {
    return ErrorOf({.entity = "a", .resource = "gpt-4", .amounts = std::move(amounts)});
  };
  EXPECT_THAT(error({{"rps", 1}}).message, AllOf(HasSubstr("rps"), HasSubstr("rpm, tpm")));
  EXPECT_THAT(error({{"rpm", 6}}).message,
              AllOf(HasSubstr("p/gpt-4"), HasSubstr("rpm"), HasSubstr("never"), HasSubstr("5")));
  EXPECT_THAT(error({{"rpm", -1}}).message, HasSubstr("negative"));
  EXPECT_THAT(error({}).message, HasSubstr("no amounts"));
  EXPECT_THAT(error({{"rpm", 1}, {"rpm", 1}}).message, HasSubstr("twice"));
  EXPECT_EQ(error({{"rpm", 1}, {"rpm", 1}}).code, Code::kInvalidArgument);
  EXPECT_EQ(store_.acquires.size(), 0U);
  EXPECT_EQ(limiter_.stats().errors, 6U);
}

TEST_F(LimiterTest, NoLimitsAnywhereIsAnErrorThatCostsTheStoreOneLook) {
  for (int i = 0; i < 3; ++i) {
    const Error error = ErrorOf({.entity = "a", .resource = "gpt-4", .amounts = {{"rpm", 1}}});
    EXPECT_EQ(error.code, Code::kInvalidArgument);
    EXPECT_THAT(error.message, HasSubstr("no limits"));
  }
  EXPECT_EQ(limiter_.stats().store_config_reads, 2U);
}

TEST_F(LimiterTest, AnAmountOfNothingLooksWithoutTaking) {
  Apply({Put(Level::System(), RpmLimits(10))});
  const auto look = Ask("acme", {{"rpm", 0}});
  ASSERT_TRUE(look);
  EXPECT_TRUE(look->admitted());
  EXPECT_EQ(look->decision().limits[0].available, 10'000);
}

TEST_F(LimiterTest, WhatTheStoreAnswersIsTheErrorWhereThePolicyIsToBlock) {
  Apply({Put(Level::System(), RpmLimits(10))});
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(ErrorOf({.entity = "a", .resource = "gpt-4", .amounts = {{"rpm", 1}}}).message, "away");
  EXPECT_EQ(limiter_.stats().errors, 1U);
}

struct PolicyCase {
  std::optional<OnUnavailable> request;
  std::optional<OnUnavailable> system;
  OnUnavailable options;
  bool allowed;
};

class PolicyTest : public ::testing::TestWithParam<PolicyCase> {};

TEST_P(PolicyTest, RequestThenSystemThenOptions) {
  sim::SimScheduler scheduler;
  const auto memory = MakeMemoryBackend({}, &scheduler.clock());
  ProbeBackend store(*memory);
  Limiter limiter(store, scheduler,
                  {.cache_ttl = milliseconds(1000), .on_unavailable = GetParam().options});
  ASSERT_TRUE(
      limiter.Apply({Put(Level::System(), RpmLimits(10), GetParam().system)}, Deadline::Never()));
  const AcquireRequest request{.entity = "acme",
                               .resource = "gpt-4",
                               .amounts = {{"rpm", 1}},
                               .on_unavailable = GetParam().request};
  ASSERT_TRUE(limiter.Acquire(request, Deadline::Never()));
  EXPECT_EQ(store.keeps, GetParam().allowed ? 1U : 0U)
      << "C5: the store knows whether a late answer is admitted all the same";
  const auto ask = [&](Code code) {
    store.fail = Error{code, "away"};
    return limiter.Acquire(request, Deadline::Never());
  };
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded}) {
    for (const milliseconds later : {milliseconds(0), milliseconds(2000)}) {
      // In the second round the cached limits have expired, so that resolving fails as well.
      scheduler.Advance(later);
      const auto outcome = ask(code);
      ASSERT_EQ(outcome.has_value(), GetParam().allowed);
      if (!outcome) continue;
      EXPECT_TRUE(outcome->admitted());
      EXPECT_TRUE(outcome->unprotected());
    }
    store.fail.reset();
    ASSERT_TRUE(limiter.Acquire(request, Deadline::Never()));
  }
  EXPECT_EQ(limiter.stats().unprotected, GetParam().allowed ? 4U : 0U);
  for (const Code code :
       {Code::kInvalidArgument, Code::kDataLoss, Code::kInternal, Code::kResourceExhausted}) {
    EXPECT_FALSE(ask(code)) << "not an absence of the store";
  }
}

constexpr auto kAllow = OnUnavailable::kAllow;
constexpr auto kBlock = OnUnavailable::kBlock;
INSTANTIATE_TEST_SUITE_P(All, PolicyTest,
                         ::testing::Values(PolicyCase{{}, {}, kBlock, false},
                                           PolicyCase{{}, {}, kAllow, true},
                                           PolicyCase{{}, kAllow, kBlock, true},
                                           PolicyCase{{}, kBlock, kAllow, false},
                                           PolicyCase{kBlock, kAllow, kAllow, false},
                                           PolicyCase{kAllow, kBlock, kBlock, true}));

// Fails if: a client that fills the store with names of its own lifts the limits of all others.
TEST(FullStore, C17AdmitsNoRequestWithoutItsBucketWhateverThePolicy) {
  sim::SimScheduler scheduler;
  const auto memory = MakeMemoryBackend({.max_buckets = 3}, &scheduler.clock());
  Limiter limiter(*memory, scheduler, {.on_unavailable = kAllow});
  ASSERT_TRUE(limiter.Apply({Put(Level::System(), RpmLimits(10))}, Deadline::Never()));
  const auto ask = [&](const std::string& entity, std::int64_t tokens) {
    return limiter.Acquire({.entity = entity, .resource = "gpt-4", .amounts = {{"rpm", tokens}}},
                           Deadline::Never());
  };
  for (const char* junk : {"a", "b", "c"}) ASSERT_TRUE(ask(junk, 1)->admitted());
  for (const std::int64_t tokens : {1, 0}) {
    const auto refused = ask("victim", tokens);
    ASSERT_FALSE(refused) << tokens;
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  }
  EXPECT_EQ(limiter.stats().unprotected, 0U);
  EXPECT_EQ(limiter.stats().store_errors, 0U);
  EXPECT_TRUE(ask("a", 1)->admitted());
}

// C26: contention that lasts longer than the store's attempts is a refusal, which no policy admits.
TEST_F(LimiterTest, C26ARefusalForContentionIsNotAdmittedWhereThePolicyIsToAllow) {
  Apply({Put(Level::System(), RpmLimits(10))});
  store_.decide = Decision{
      .admitted = false, .retry_after = milliseconds(100), .limits = {}, .contended = true};
  AcquireRequest request{
      .entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}}, .on_unavailable = kAllow};
  const auto refused = limiter_.Acquire(request, Deadline::Never());
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->admitted());
  EXPECT_EQ(refused->decision().retry_after, milliseconds(100));
  EXPECT_EQ(limiter_.stats().unprotected, 0U);

  request.wait = true;
  std::optional<Result<Outcome>> waited;
  limiter_.Acquire(request, Deadline::After(scheduler_.clock(), milliseconds(1000)),
                   [&](Result<Outcome> outcome) { waited = std::move(outcome); });
  scheduler_.Advance(milliseconds(50));
  EXPECT_FALSE(waited);
  store_.decide.reset();
  scheduler_.Advance(milliseconds(50));
  ASSERT_TRUE(waited && *waited);
  EXPECT_TRUE((*waited)->admitted());
  EXPECT_FALSE((*waited)->unprotected()) << "it was charged when its turn came";
}

TEST_F(LimiterTest, ALeaseOfAnUnprotectedAnswerHoldsNothing) {
  Apply({Put(Level::System(), RpmLimits(10))});
  store_.fail = Error{Code::kUnavailable, "away"};
  auto outcome = limiter_.Acquire(
      {.entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}}, .on_unavailable = kAllow},
      Deadline::Never());
  ASSERT_TRUE(outcome);
  const Lease lease = std::move(*outcome).lease();
  EXPECT_FALSE(lease.active());
  EXPECT_TRUE(lease.charges().empty());
}

TEST_F(LimiterTest, AnInvalidRequestIsAnErrorAlsoWhereThePolicyIsToAllow) {
  Apply({Put(Level::System(), RpmLimits(10))});
  EXPECT_TRUE(Take("acme", {{"rpm", 1}}));
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(ErrorOf({.entity = "acme",
                     .resource = "gpt-4",
                     .amounts = {{"rpm", 11}},
                     .on_unavailable = kAllow})
                .code,
            Code::kInvalidArgument);
}

TEST_F(LimiterTest, AnApplyThatFailedMayHaveHappenedAndIsForgottenAnyway) {
  Apply({Put(Level::System(), RpmLimits(10))});
  EXPECT_TRUE(Take("acme", {{"rpm", 10}}));
  store_.lose = Error{Code::kDeadlineExceeded, "late"};
  EXPECT_FALSE(limiter_.Apply({Put(Level::System(), RpmLimits(20))}, Deadline::Never()));
  store_.lose.reset();
  EXPECT_TRUE(Take("acme", {{"rpm", 10}}));
}

TEST_F(LimiterTest, AnErrorOfApplyNamesTheChangeAndNothingChanged) {
  Apply({Put(Level::System(), RpmLimits(10))});
  const Status applied = limiter_.Apply(
      {Put(Level::System(), RpmLimits(20)), DeleteLimits{Level::EntityDefault("acme")}},
      Deadline::Never());
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Code::kNotFound);
  EXPECT_FALSE(Take("acme", {{"rpm", 10}}) && Take("acme", {{"rpm", 1}}));
}

TEST_F(LimiterTest, InvalidateForgetsEverything) {
  Apply({Put(Level::System(), RpmLimits(10))});
  EXPECT_TRUE(Take("acme", {{"rpm", 1}}));
  memory_->config().Apply({Put(Level::System(), RpmLimits(1))}, Deadline::Never(), [](Status) {});
  EXPECT_TRUE(Take("acme", {{"rpm", 1}})) << "still believed";
  limiter_.Invalidate();
  EXPECT_FALSE(Take("acme", {{"rpm", 1}})) << "2 of 1 are used";
}

TEST_F(LimiterTest, ResolveTellsWhichLevelDecides) {
  Apply({Put(Level::Resource("gpt-4"), RpmLimits(10))});
  const auto resolved = limiter_.Resolve("acme", "gpt-4", Deadline::Never());
  ASSERT_TRUE(resolved);
  EXPECT_EQ((*resolved)->source, Level::Resource("gpt-4"));
  EXPECT_FALSE(limiter_.Resolve("acme", "gpt-5", Deadline::Never()));
}

TEST_F(LimiterTest, CountsWhatItDid) {
  Apply({Put(Level::System(), RpmLimits(2))});
  EXPECT_TRUE(Take("acme", {{"rpm", 2}}));
  EXPECT_FALSE(Take("acme", {{"rpm", 1}}));
  auto outcome = Ask("other", {{"rpm", 1}});
  ASSERT_TRUE(std::move(*outcome).lease().Cancel());
  const LimiterStats stats = limiter_.stats();
  EXPECT_EQ(stats.admitted, 2U);
  EXPECT_EQ(stats.refused, 1U);
  EXPECT_EQ(stats.errors, 0U);
  EXPECT_EQ(stats.waiting, 0U);
  EXPECT_EQ(stats.store_acquires, 3U);
  EXPECT_EQ(stats.store_adjusts, 1U);
  EXPECT_EQ(stats.store_config_reads, 4U);
  EXPECT_EQ(stats.resolver.size, 2U);
  EXPECT_EQ(stats.resolver.misses, 2U);
  EXPECT_EQ(stats.resolver.hits, 1U);
}

}  // namespace
}  // namespace weir
