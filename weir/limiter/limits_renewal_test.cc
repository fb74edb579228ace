// A store whose buckets have other limits than those that a limiter has cached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The limits of one bucket, and the time at which the store saw them. A request with other limits
/// is outdated if its limits were resolved before that time; otherwise the bucket gets its limits.
struct StoredLimits {
  std::vector<Limit> limits;
  Instant seen;
  int repairs = 0;

  std::optional<Decision> Judge(std::span<const Charge> charges) {
    const Charge& own = charges.front();
    if (own.target->source == LimitSource::kOverride || own.target->limits == limits) {
      return std::nullopt;
    }
    if (seen > own.resolved_at) return Decision{.limits = {}, .outdated = true};
    limits = own.target->limits;
    ++repairs;
    return std::nullopt;
  }
};

class RenewalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Configure({Put(Level::Entity("acme", "gpt-4"), RpmLimits(100))});
    ASSERT_TRUE(Take());
    scheduler_.Advance(milliseconds(10));
    store_.limit_reads.clear();
    store_.acquires.clear();
    asks_ = 0;
    store_.judge = [this](std::span<const Charge> charges) {
      ++asks_;
      return charges.front().target->key.resource == "gpt-4" ? stored_.Judge(charges)
                                                             : std::nullopt;
    };
  }
  void TearDown() override {
    results_.clear();
    limiter_.reset();
  }

  /// Changes the configuration as another process would.
  void Configure(std::vector<ConfigChange> changes) {
    memory_->config().Apply(std::move(changes), Deadline::Never(),
                            [](const Status& applied) { ASSERT_TRUE(applied); });
  }
  void Store(std::vector<Limit> limits) {
    scheduler_.Advance(milliseconds(1));
    stored_ = {.limits = std::move(limits), .seen = scheduler_.clock().Now()};
    scheduler_.Advance(milliseconds(1));
  }
  void Change(std::int64_t capacity, Level level = Level::Entity("acme", "gpt-4")) {
    Configure({Put(std::move(level), RpmLimits(capacity))});
    Store(RpmLimits(capacity));
  }

  std::optional<Result<Outcome>>& Ask(AcquireRequest request,
                                      Deadline deadline = Deadline::Never()) {
    auto& result = results_.emplace_back();
    limiter_->Acquire(request, deadline, [&](Result<Outcome> got) { result = std::move(got); });
    return result;
  }
  std::optional<Result<Outcome>>& Ask(std::string_view resource = "gpt-4") {
    return Ask({.entity = "acme", .resource = resource, .amounts = {{"rpm", 1}}});
  }
  /// Makes a request, adjusts its lease, and returns the entities whose buckets were adjusted.
  std::vector<std::string> AdjustedAfter(Amounts amounts, const Amounts& used) {
    auto& result = Ask({.entity = "acme", .resource = "gpt-4", .amounts = std::move(amounts)});
    if (!result || !*result || !(*result)->admitted()) return {"not admitted"};
    Lease lease = std::move(**result).lease();
    EXPECT_TRUE(lease.Adjust(used));
    std::vector<std::string> entities;
    for (const Charge& charge : store_.adjusts.back().charges) {
      entities.push_back(charge.target->key.entity);
    }
    return entities;
  }
  bool Take(std::string_view resource = "gpt-4") {
    const auto& result = Ask(resource);
    return result && *result && (*result)->admitted();
  }
  std::int64_t ChargedCapacity() const {
    if (store_.acquires.empty()) return -1;
    return store_.acquires.back().charges.front().target->limits[0].quota.capacity / kMillitokens;
  }

  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  ProbeBackend store_{*memory_};
  RecordingLog log_;
  std::unique_ptr<Limiter> limiter_ =
      std::make_unique<Limiter>(store_, scheduler_, LimiterOptions{.log = &log_, .seed = 1});
  StoredLimits stored_{.limits = RpmLimits(100), .seen = {}};
  int asks_ = 0;
  std::list<std::optional<Result<Outcome>>> results_;
};

TEST_F(RenewalTest, D6ALimiterWithAnOldCacheTakesTheNewLimitsAndLeavesTheBucketAlone) {
  Change(10);
  EXPECT_TRUE(Take());
  EXPECT_EQ(ChargedCapacity(), 10);
  EXPECT_EQ(stored_.repairs, 0);
  EXPECT_EQ(asks_, 2);
  EXPECT_EQ(limiter_->stats().outdated, 1U);
  EXPECT_THAT(log_.lines(), ElementsAre("info limiter.limits_outdated entity=acme resource=gpt-4 "
                                        "changed=true suppressed=0"));
  // The renewed limits are cached.
  store_.limit_reads.clear();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Take());
  EXPECT_THAT(store_.limit_reads, IsEmpty());
  EXPECT_EQ(asks_, 6);
}

TEST_F(RenewalTest, D6ABucketWithOldLimitsGetsThoseThatHold) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Take());  // the ThreadCache stores the pair
  Store(RpmLimits(7));
  EXPECT_TRUE(Take());
  EXPECT_EQ(ChargedCapacity(), 100);
  EXPECT_EQ(stored_.repairs, 1);
  EXPECT_THAT(log_.lines(), ElementsAre("info limiter.limits_outdated entity=acme resource=gpt-4 "
                                        "changed=false suppressed=0"));
  // Old limits that the store saw before the renewal: the limits of the request are newer.
  stored_ = {.limits = RpmLimits(7), .seen = scheduler_.clock().Now() - nanoseconds(1)};
  asks_ = 0;
  EXPECT_TRUE(Take());
  EXPECT_EQ(asks_, 1);
  EXPECT_EQ(stored_.repairs, 1);
}

TEST_F(RenewalTest, D6RequestsThatFindTheSameMismatchShareTheReads) {
  Change(1000);
  store_.hold = true;  // holds results of buckets and of the configuration
  for (int i = 0; i < 20; ++i) Ask();
  store_.Release();  // "outdated", 20 times
  EXPECT_EQ(store_.limit_reads.size(), 1U);
  for (int i = 0; i < 20; ++i) store_.Release();
  // One read for the first request, which began too early for the others, and one for the others.
  EXPECT_EQ(store_.limit_reads.size(), 2U);
  EXPECT_EQ(asks_, 40);
  for (const auto& result : results_) EXPECT_TRUE(result && *result && (*result)->admitted());
  EXPECT_EQ(stored_.repairs, 0);
}

TEST_F(RenewalTest, D6ReadsThatBeganBeforeTheMismatchWasSeenDoNotCount) {
  Change(10);
  store_.hold = true;
  Ask();
  store_.Release();  // the outdated result; the reads begin and find 10
  ASSERT_EQ(store_.limit_reads.size(), 1U);
  Change(20);
  Ask();
  store_.Release();
  for (int i = 0; i < 20; ++i) store_.Release();
  for (const auto& result : results_) EXPECT_TRUE(result && *result && (*result)->admitted());
  EXPECT_EQ(stored_.repairs, 0);
  EXPECT_EQ(stored_.limits, RpmLimits(20));
  EXPECT_EQ(ChargedCapacity(), 20);
  EXPECT_EQ(asks_, 3 + 2);  // the second request waited for later reads
}

// Fails if: Charge::resolved_at is the end of the fetch.
TEST_F(RenewalTest, D6LimitsAreAsOldAsTheBeginningOfTheirReads) {
  limiter_->Invalidate();
  store_.hold = true;
  const auto& result = Ask();  // the reads find 100, and their results are late
  Change(10);
  for (int i = 0; i < 20; ++i) store_.Release();
  ASSERT_TRUE(result && *result && (*result)->admitted());
  EXPECT_EQ(stored_.repairs, 0);
  EXPECT_EQ(ChargedCapacity(), 10);
}

TEST_F(RenewalTest, D6LimitsThatChangeAllTheTimeEndInARefusalForContention) {
  store_.judge = [this](auto) {
    ++asks_;
    return Decision{.limits = {}, .outdated = true};
  };
  const auto& result = Ask();
  ASSERT_TRUE(result && *result);
  const Decision& decision = (*result)->decision();
  EXPECT_FALSE(decision.admitted);
  EXPECT_TRUE(decision.contended);
  EXPECT_FALSE(decision.outdated);
  EXPECT_EQ(decision.retry_after, milliseconds(100));
  EXPECT_EQ(asks_, 4);
  EXPECT_EQ(store_.limit_reads.size(), 3U);
  EXPECT_EQ(limiter_->stats().refused, 1U);
}

TEST_F(RenewalTest, ADoubtOfAnEarlierTryIsPartOfTheDecision) {
  store_.judge = [this](auto) -> std::optional<Decision> {
    if (++asks_ > 1) return std::nullopt;
    return Decision{.maybe_charged_twice = true, .limits = {}, .outdated = true};
  };
  const auto& result = Ask();
  ASSERT_TRUE(result && *result && (*result)->admitted());
  EXPECT_TRUE((*result)->decision().maybe_charged_twice);
}

TEST_F(RenewalTest, D6NoPolicyAdmitsARequestWhoseLimitsAreOutdated) {
  store_.judge = [](auto) { return Decision{.limits = {}, .outdated = true}; };
  const auto& result = Ask({.entity = "acme",
                            .resource = "gpt-4",
                            .amounts = {{"rpm", 1}},
                            .on_unavailable = OnUnavailable::kAllow});
  ASSERT_TRUE(result && *result);
  EXPECT_TRUE((*result)->decision().contended);
}

TEST_F(RenewalTest, D6TheReadsHaveTheTimeThatTheRequestHas) {
  Change(10);
  const Deadline deadline = Deadline::After(scheduler_.clock(), milliseconds(50));
  store_.hold = true;
  const auto& result =
      Ask({.entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}}}, deadline);
  store_.fail = Error{Code::kDeadlineExceeded, "too slow"};
  for (int i = 0; i < 5; ++i) store_.Release();
  ASSERT_TRUE(result && !*result);
  EXPECT_EQ(result->error().code, Code::kDeadlineExceeded);
}

TEST_F(RenewalTest, D6ALimitThatIsGoneIsNamedAsOneThatNeverWas) {
  Configure({Put(Level::Entity("acme", "gpt-4"), {{"tpm", PerMinute(5)}})});
  Store({{"tpm", PerMinute(5)}});
  const auto& result = Ask();
  ASSERT_TRUE(result && !*result);
  EXPECT_EQ(result->error().code, Code::kInvalidArgument);
  EXPECT_THAT(result->error().message, ::testing::HasSubstr("no limit is called 'rpm'"));
}

TEST_F(RenewalTest, D6ALookAndARequestOfSomeLimitsAreRepeatedAsTheyWere) {
  const std::vector<Limit> both{{"rpm", PerMinute(10)}, {"tpm", PerMinute(20)}};
  Configure({Put(Level::Entity("acme", "gpt-4"), both)});
  Store(both);
  EXPECT_TRUE(Take());
  EXPECT_THAT(store_.acquires.back().charges.front().amounts, ElementsAre(1000, 0));
  Change(5);
  const auto& look = Ask({.entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 0}}});
  ASSERT_TRUE(look && *look && (*look)->admitted());
  EXPECT_THAT(store_.acquires.back().charges.front().amounts, ElementsAre(0));
}

// Fails if: a request that only looks at a limit, and then adjusts it, charges other buckets after
// its limits were outdated than before.
TEST_F(RenewalTest, D6ALimitNamedWithNothingIsAdjustedInEveryBucketThatHasIt) {
  const auto both = [](std::int64_t capacity) {
    return std::vector<Limit>{{"rpm", PerMinute(capacity)}, {"tpm", PerMinute(2'000)}};
  };
  Configure({PutChild("acme", "globex"), Put(Level::Entity("acme", "gpt-4"), both(10)),
             Put(Level::Entity("globex", "gpt-4"), {{"tpm", PerMinute(1'000)}})});
  limiter_->Invalidate();
  Store(both(10));
  for (const std::int64_t capacity : {10, 20}) {
    Configure({Put(Level::Entity("acme", "gpt-4"), both(capacity))});
    if (capacity != 10) Store(both(capacity));
    EXPECT_THAT(AdjustedAfter({{"rpm", 1}, {"tpm", 0}}, {{"tpm", 500}}),
                ElementsAre("acme", "globex"));
  }
  EXPECT_EQ(limiter_->stats().outdated, 1U);
}

// Fails if: the pair of the first charged bucket is resolved again, which is that of the parent if
// all limits that the request names block in its own bucket.
TEST_F(RenewalTest, D6ALimitThatNoLongerBlocksIsAdjusted) {
  Configure({PutChild("acme", "globex"), Put(Level::Entity("globex", "gpt-4"), RpmLimits(50)),
             Put(Level::Entity("acme", "gpt-4"), {{"rpm", {0, 0, 60'000}}})});
  limiter_->Invalidate();
  store_.judge = nullptr;
  EXPECT_THAT(AdjustedAfter({{"rpm", 0}}, {{"rpm", 4}}), ElementsAre("globex"));
  Configure({Put(Level::Entity("acme", "gpt-4"), RpmLimits(10))});
  store_.judge = [this](auto) -> std::optional<Decision> {
    if (++asks_ > 1) return std::nullopt;
    return Decision{.limits = {}, .outdated = true};
  };
  EXPECT_THAT(AdjustedAfter({{"rpm", 0}}, {{"rpm", 4}}), ElementsAre("acme", "globex"));
  EXPECT_THAT(log_.lines(), ElementsAre("info limiter.limits_outdated entity=acme resource=gpt-4 "
                                        "changed=true suppressed=0"));
}

TEST_F(RenewalTest, D6ALimitThatIsGoneIsAnErrorOfARequestThatLooksAtIt) {
  const std::vector<Limit> both{{"rpm", PerMinute(10)}, {"tpm", PerMinute(20)}};
  Configure({Put(Level::Entity("acme", "gpt-4"), both)});
  limiter_->Invalidate();
  Store(both);
  const AcquireRequest look{
      .entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}, {"tpm", 0}}};
  ASSERT_TRUE(*Ask(look));
  Change(5);
  const auto& result = Ask(look);
  ASSERT_TRUE(result && !*result);
  EXPECT_THAT(result->error().message, ::testing::HasSubstr("no limit is called 'tpm'"));
}

TEST_F(RenewalTest, D6AnAncestorThatAppearsIsCharged) {
  Configure({Put(Level::EntityDefault("acme"), RpmLimits(50))});
  ASSERT_TRUE(Take("gpt-5"));
  Configure({PutChild("acme", "globex"), Put(Level::EntityDefault("globex"), RpmLimits(500))});
  Store(RpmLimits(7));
  EXPECT_TRUE(Take());
  ASSERT_EQ(store_.acquires.back().charges.size(), 2U);
  EXPECT_EQ(store_.acquires.back().charges[1].target->key.entity, "globex");
  // The entity's other pairs charge the ancestor, too.
  EXPECT_TRUE(Take("gpt-5"));
  EXPECT_EQ(store_.acquires.back().charges.size(), 2U);
}

TEST_F(RenewalTest, D6OverridesAreNotResolvedAgain) {
  store_.judge = [](auto) { return Decision{.limits = {}, .outdated = true}; };
  const auto& result =
      Ask({.entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}}, .limits = RpmLimits(3)});
  ASSERT_TRUE(result && *result);
  EXPECT_TRUE((*result)->decision().contended);
  EXPECT_THAT(store_.limit_reads, IsEmpty());
}

TEST_F(RenewalTest, D6AWaitingRequestGoesOnWaitingUnderTheNewLimits) {
  Change(1);  // SetUp has used one token
  const auto& waits =
      Ask({.entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}}, .wait = true});
  EXPECT_FALSE(waits);
  Change(60);
  scheduler_.Advance(milliseconds(60'000));
  ASSERT_TRUE(waits && *waits);
  EXPECT_TRUE((*waits)->admitted());
  EXPECT_EQ(stored_.repairs, 0);
  EXPECT_EQ(ChargedCapacity(), 60);
}

// Fails if: the policy that applied when a request began to wait decides about its last try.
TEST_F(RenewalTest, AWaitingRequestHasThePolicyOfItsLatestLimits) {
  Configure({Put(Level::System(), RpmLimits(100), OnUnavailable::kAllow)});
  Change(1);  // SetUp has used one token
  limiter_->Invalidate();
  const auto& waits =
      Ask({.entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}}, .wait = true});
  ASSERT_FALSE(waits);
  limiter_->Apply({Put(Level::System(), RpmLimits(100), OnUnavailable::kBlock)}, Deadline::Never(),
                  [](const Status& applied) { ASSERT_TRUE(applied); });
  scheduler_.Advance(milliseconds(1'000));
  ASSERT_FALSE(waits);
  store_.fail = Error{Code::kUnavailable, "no store"};
  scheduler_.Advance(milliseconds(120'000));
  ASSERT_TRUE(waits);
  EXPECT_FALSE(*waits) << "admitted without a charge";
}

TEST_F(RenewalTest, D6AWaitingRequestTriesAgainAfterContention) {
  bool is_outdated = true;
  store_.judge = [&](auto) -> std::optional<Decision> {
    ++asks_;
    if (is_outdated) return Decision{.limits = {}, .outdated = true};
    return std::nullopt;
  };
  const auto& waits =
      Ask({.entity = "acme", .resource = "gpt-4", .amounts = {{"rpm", 1}}, .wait = true});
  EXPECT_FALSE(waits);
  EXPECT_EQ(asks_, 4);
  scheduler_.Advance(milliseconds(100));
  EXPECT_FALSE(waits);
  EXPECT_EQ(asks_, 8);
  is_outdated = false;
  scheduler_.Advance(milliseconds(100));
  ASSERT_TRUE(waits && *waits && (*waits)->admitted());
}

/// The pairs whose limits are read again after a request of acme on gpt-4 found a change of this
/// level.
struct Spread {
  Level level;
  bool others_of_acme = false;
  bool others = false;
};

class RenewalSpread : public RenewalTest, public ::testing::WithParamInterface<Spread> {};

TEST_P(RenewalSpread, D6OtherPairsAreReadAgainIfTheSameChangeMayHaveReachedThem) {
  const Spread& spread = GetParam();
  Configure({Put(Level::System(), RpmLimits(50)), DeleteLimits{Level::Entity("acme", "gpt-4")},
             Put(spread.level, RpmLimits(60))});
  limiter_->Invalidate();
  const auto ask = [&](std::string_view entity, std::string_view resource) {
    Ask({.entity = entity, .resource = resource, .amounts = {{"rpm", 1}}});
  };
  const auto is_read = [&](std::string_view entity, std::string_view resource) {
    store_.limit_reads.clear();
    ask(entity, resource);
    return !store_.limit_reads.empty();
  };
  for (const char* resource : {"gpt-4", "gpt-5"}) {
    ask("acme", resource);
    ask("globex", resource);
  }
  scheduler_.Advance(milliseconds(1));
  Change(70, spread.level);
  ask("acme", "gpt-4");
  EXPECT_EQ(stored_.limits, RpmLimits(70));
  EXPECT_FALSE(is_read("acme", "gpt-4"));
  EXPECT_EQ(is_read("acme", "gpt-5"), spread.others_of_acme);
  EXPECT_EQ(is_read("globex", "gpt-5"), spread.others);
}

INSTANTIATE_TEST_SUITE_P(
    Levels, RenewalSpread,
    ::testing::Values(
        Spread{.level = Level::Entity("acme", "gpt-4"), .others_of_acme = true},
        Spread{.level = Level::EntityDefault("acme"), .others_of_acme = true},
        Spread{.level = Level::Resource("gpt-4"), .others_of_acme = true, .others = true},
        Spread{.level = Level::System(), .others_of_acme = true, .others = true}));

}  // namespace
}  // namespace weir
