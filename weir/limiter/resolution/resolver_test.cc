#include "weir/limiter/resolution/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/limiter/testing/probe_backend.h"
#include "weir/runtime/await.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ResolverTest : public ::testing::Test {
 protected:
  void Apply(std::vector<ConfigChange> changes) {
    const Status applied = Await<void>([&](Done<void> done) {
      memory_->config().Apply(std::move(changes), Deadline::Never(), std::move(done));
    });
    ASSERT_TRUE(applied) << applied.error().message;
  }
  void Change(std::vector<ConfigChange> changes) {
    const AffectedPairs affected = PairsAffectedBy(changes);
    Apply(std::move(changes));
    resolver_.DropAffected(affected);
  }
  Result<ResolvedPtr> Resolve(std::string_view entity, std::string_view resource = "gpt-4") {
    return Await<ResolvedPtr>([&](Done<ResolvedPtr> done) {
      resolver_.Resolve(entity, resource, Deadline::Never(), std::move(done));
    });
  }
  /// Returns the capacity of the first limit of each charged bucket.
  std::vector<std::int64_t> Capacities(std::string_view entity) {
    const auto resolved = Resolve(entity);
    std::vector<std::int64_t> capacities;
    if (!resolved) return capacities;
    for (const TargetPtr& target : (*resolved)->targets) {
      capacities.push_back(target->limits.front().quota.capacity / kMillitokens);
    }
    return capacities;
  }
  void Start(std::string_view entity, std::vector<Result<ResolvedPtr>>& results,
             Deadline deadline = Deadline::Never()) {
    resolver_.Resolve(entity, "gpt-4", deadline,
                      [&](Result<ResolvedPtr> result) { results.push_back(std::move(result)); });
  }

  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  ProbeBackend store_{*memory_};
  Resolver resolver_{
      store_.config(), scheduler_.clock(), {.ttl = milliseconds(1000), .capacity = 8}};
};

using Caps = std::vector<std::int64_t>;

TEST_F(ResolverTest, TheFirstLevelThatHasLimitsWinsAsAWhole) {
  Change({Put(Level::System(), RpmLimits(1))});
  EXPECT_EQ(Capacities("acme"), Caps{1});
  EXPECT_EQ((*Resolve("acme"))->source, Level::System());
  Change({Put(Level::Resource("gpt-4"), RpmLimits(2))});
  EXPECT_EQ(Capacities("acme"), Caps{2});
  EXPECT_EQ((*Resolve("acme"))->source, Level::Resource("gpt-4"));
  Change({Put(Level::EntityDefault("acme"), {{"rpm", PerMinute(3)}, {"tpm", PerMinute(30)}})});
  EXPECT_EQ(Capacities("acme"), Caps{3});
  EXPECT_EQ((*Resolve("acme"))->source, Level::EntityDefault("acme"));
  Change({Put(Level::Entity("acme", "gpt-4"), RpmLimits(4))});
  EXPECT_EQ(Capacities("acme"), Caps{4});
  EXPECT_EQ((*Resolve("acme"))->source, Level::Entity("acme", "gpt-4"));
  EXPECT_EQ((*Resolve("acme"))->targets.front()->limits.size(), 1U) << "levels are not merged";
  Change({DeleteLimits{Level::Entity("acme", "gpt-4")}});
  EXPECT_EQ(Capacities("acme"), Caps{3});
}

// C14: the addition overflowed an Instant, and nothing was cached.
TEST_F(ResolverTest, C14AnUnlimitedTimeToLiveRemembersForGood) {
  Change({Put(Level::System(), RpmLimits(1))});
  Resolver resolver(store_.config(), scheduler_.clock(), {.ttl = milliseconds::max()});
  for (int i = 0; i < 2; ++i) {
    const auto resolved = Await<ResolvedPtr>([&](Done<ResolvedPtr> done) {
      resolver.Resolve("acme", "gpt-4", Deadline::Never(), std::move(done));
    });
    ASSERT_TRUE(resolved);
    scheduler_.Advance(std::chrono::hours(1));
  }
  EXPECT_EQ(resolver.stats().hits, 1U);
}

// Fails if: TargetInterner::Share returns the target of a slot without comparing its limits.
TEST_F(ResolverTest, ChildrenOfOneParentShareItsTargetWhileItsLimitsStay) {
  Change({Put(Level::System(), RpmLimits(1)), PutChild("a", "acme"), PutChild("b", "acme")});
  const TargetPtr parent = (*Resolve("a"))->targets.back();
  EXPECT_EQ(parent, (*Resolve("b"))->targets.back());
  Change({Put(Level::System(), RpmLimits(2))});
  EXPECT_EQ(Capacities("a"), (Caps{2, 2}));
  EXPECT_EQ((*Resolve("a"))->targets.back(), (*Resolve("b"))->targets.back());
}

TEST_F(ResolverTest, OtherEntitiesAndResourcesAreNotConcerned) {
  Change({Put(Level::System(), RpmLimits(1)), Put(Level::Entity("acme", "gpt-4"), RpmLimits(2)),
          Put(Level::Resource("gpt-3"), RpmLimits(3))});
  EXPECT_EQ(Capacities("other"), Caps{1});
  EXPECT_EQ((*Resolve("acme", "gpt-3"))->source, Level::Resource("gpt-3"));
}

TEST_F(ResolverTest, AnEntityThatIsNotKnownHasTheLimitsOfResourceAndSystem) {
  Change({Put(Level::Resource("gpt-4"), RpmLimits(5))});
  EXPECT_EQ(Capacities("nobody"), Caps{5});
}

TEST_F(ResolverTest, FollowsParentsWhileTheyCascade) {
  Change(
      {PutChild("a", "b"), PutChild("b", "c"), PutChild("c", "d", false),
       Put(Level::EntityDefault("a"), RpmLimits(1)), Put(Level::Entity("b", "gpt-4"), RpmLimits(2)),
       Put(Level::EntityDefault("c"), RpmLimits(3)), Put(Level::EntityDefault("d"), RpmLimits(4))});
  EXPECT_EQ(Capacities("a"), (Caps{1, 2, 3})) << "c does not cascade";
  const auto resolved = *Resolve("a");
  EXPECT_EQ(resolved->targets[1]->key.entity, "b");
  EXPECT_EQ(resolved->targets[1]->key.resource, "gpt-4");
}

TEST_F(ResolverTest, AParentThatIsNotKnownEndsTheChain) {
  Change({PutChild("a", "ghost"), Put(Level::System(), RpmLimits(7))});
  EXPECT_EQ(Capacities("a"), (Caps{7, 7}));
}

TEST_F(ResolverTest, AnAncestorWithoutLimitsIsLeftOut) {
  Change({PutChild("a", "b"), PutChild("b", "c"), Put(Level::EntityDefault("a"), RpmLimits(1)),
          Put(Level::EntityDefault("c"), RpmLimits(3))});
  EXPECT_EQ(Capacities("a"), (Caps{1, 3}));
}

// A fetch takes one round trip for each member.
TEST_F(ResolverTest, AMemberAndItsLimitsAreReadAtOnce) {
  Change({PutChild("a", "b"), PutChild("b", "c"), Put(Level::System(), RpmLimits(1))});
  store_.hold = true;
  std::optional<Result<ResolvedPtr>> result;
  resolver_.Resolve("a", "gpt-4", Deadline::Never(), [&](auto resolved) { result = resolved; });
  for (std::size_t member = 1; member <= 3; ++member) {
    EXPECT_EQ(store_.entity_reads.size(), member);
    EXPECT_EQ(store_.limit_reads.size(), member);
    store_.Release();
  }
  ASSERT_TRUE(result);
  EXPECT_EQ((**result)->targets.size(), 3U);
  EXPECT_EQ(store_.entity_reads, (std::vector<std::vector<std::string>>{{"a"}, {"b"}, {"c"}}));
  EXPECT_EQ(store_.limit_reads.front().size(), 4U) << "two of its own, the resource, the system";
  EXPECT_EQ(store_.limit_reads.back().size(), 2U);
  EXPECT_EQ(resolver_.store_reads(), 6U);
}

TEST_F(ResolverTest, TheLongestChainIsEightAndALongerOneIsAnError) {
  std::vector<ConfigChange> changes{Put(Level::System(), RpmLimits(1))};
  for (int i = 1; i < 8; ++i) {
    changes.push_back(PutChild("e" + std::to_string(i), "e" + std::to_string(i + 1)));
  }
  Change(std::move(changes));
  EXPECT_EQ(Capacities("e1").size(), kMaxCascade);
  Change({PutChild("e0", "e1")});
  const auto longer = Resolve("e0");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(longer.error().message, AllOf(HasSubstr("e0 > e1 >"), HasSubstr("at most 8")));
}

/// A store with a cycle of parents, which another program may have written.
class CyclicConfig final : public ConfigStore {
 public:
  void GetEntities(std::span<const std::string> ids, Deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override {
    EntityRecord record;
    record.entity.id = ids.front();
    record.entity.parent = ids.front() == "a" ? "b" : "a";
    record.entity.cascade = true;
    done(std::vector<std::optional<EntityRecord>>{record});
  }
  void GetLimits(std::span<const Level> levels, Deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override {
    done(std::vector<std::optional<LevelLimits>>(levels.size()));
  }
  void ListLimits(const LevelFilter&, const PageRequest&, Deadline,
                  Done<Page<LevelRecord>>) override {}
  void ListEntities(const std::optional<std::string>&, const PageRequest&, Deadline,
                    Done<Page<EntityRecord>>) override {}
  void Apply(std::vector<ConfigChange>, Deadline, Done<void>) override {}
};

TEST_F(ResolverTest, AChainThatEndsInItselfIsAnError) {
  CyclicConfig config;
  Resolver resolver(config, scheduler_.clock(), {});
  const auto result = Await<ResolvedPtr>([&](Done<ResolvedPtr> done) {
    resolver.Resolve("a", "gpt-4", Deadline::Never(), std::move(done));
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(result.error().message, HasSubstr("a > b > a"));
}

TEST_F(ResolverTest, ASecondRequestCostsNoCall) {
  Change({Put(Level::System(), RpmLimits(1))});
  EXPECT_EQ(resolver_.Find("acme", "gpt-4"), nullptr);
  Capacities("acme");
  const auto reads = store_.config_reads();
  Capacities("acme");
  EXPECT_NE(resolver_.Find("acme", "gpt-4"), nullptr);
  EXPECT_EQ(store_.config_reads(), reads);
  EXPECT_EQ(resolver_.stats().misses, 1U);
  EXPECT_EQ(resolver_.stats().hits, 2U);
  EXPECT_EQ(resolver_.stats().size, 1U);
}

TEST_F(ResolverTest, IsBelievedForItsTimeAndNoLonger) {
  Change({Put(Level::System(), RpmLimits(1))});
  Capacities("acme");
  Apply({Put(Level::System(), RpmLimits(2))});  // by another process
  scheduler_.Advance(milliseconds(1000) - nanoseconds(1));
  EXPECT_EQ(Capacities("acme"), Caps{1});
  scheduler_.Advance(nanoseconds(1));
  EXPECT_EQ(resolver_.Find("acme", "gpt-4"), nullptr);
  EXPECT_EQ(Capacities("acme"), Caps{2});
}

TEST_F(ResolverTest, AFetchThatTookLongIsBelievedFromItsBeginning) {
  Change({Put(Level::System(), RpmLimits(1))});
  store_.hold = true;
  std::vector<Result<ResolvedPtr>> results;
  Start("acme", results);
  scheduler_.Advance(milliseconds(999));
  store_.hold = false;
  store_.Release();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_NE(resolver_.Find("acme", "gpt-4"), nullptr);
  scheduler_.Advance(milliseconds(1));
  EXPECT_EQ(resolver_.Find("acme", "gpt-4"), nullptr);
}

TEST_F(ResolverTest, ThatNothingIsSetIsRememberedToo) {
  const auto none = Resolve("acme");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalidArgument);
  EXPECT_THAT(none.error().message, AllOf(HasSubstr("acme/gpt-4"), HasSubstr("no limits")));
  const auto reads = store_.config_reads();
  EXPECT_FALSE(Resolve("acme"));
  EXPECT_EQ(store_.config_reads(), reads);
  Change({Put(Level::System(), RpmLimits(1))});
  EXPECT_EQ(Capacities("acme"), Caps{1});
}

TEST_F(ResolverTest, NamesThatAreNotValidReachNoStore) {
  for (const auto& [entity, resource] : std::vector<std::pair<std::string, std::string>>{
           {"", "gpt-4"}, {"a b", "gpt-4"}, {"acme", ""}, {"acme", "_default_"}}) {
    const auto result = Resolve(entity, resource);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(store_.config_reads(), 0U);
  EXPECT_EQ(resolver_.stats().size, 0U);
}

// In zae-limiter one lock was held during the fetch, so all misses of a process were serialized.
TEST_F(ResolverTest, ThoseWhoMissOnePairAtOnceShareOneFetch) {
  Change({Put(Level::System(), RpmLimits(1))});
  store_.hold = true;
  std::vector<Result<ResolvedPtr>> results;
  for (int i = 0; i < 5; ++i) Start("acme", results);
  Start("other", results);
  EXPECT_EQ(store_.entity_reads.size(), 2U) << "different pairs do not wait for each other";
  store_.hold = false;
  store_.Release();
  EXPECT_EQ(results.size(), 6U);
  EXPECT_EQ(store_.limit_reads.size(), 2U);
  EXPECT_EQ(resolver_.stats().joined, 4U);
  EXPECT_EQ(resolver_.stats().misses, 6U);
}

TEST_F(ResolverTest, AFailedFetchFailsThoseWhoSharedItAndIsNotRemembered) {
  Change({Put(Level::System(), RpmLimits(1))});
  store_.hold = true;
  store_.fail = Error{Code::kUnavailable, "away"};
  std::vector<Result<ResolvedPtr>> results;
  Start("acme", results);
  Start("acme", results);
  store_.Release();
  store_.hold = false;
  store_.fail.reset();
  ASSERT_EQ(results.size(), 2U);
  for (const auto& result : results) EXPECT_EQ(result.error().code, Code::kUnavailable);
  EXPECT_EQ(Capacities("acme"), Caps{1});
}

TEST_F(ResolverTest, WhoHasMoreTimeThanTheFetchAsksAgain) {
  Change({Put(Level::System(), RpmLimits(1))});
  const Instant now = scheduler_.clock().Now();
  store_.hold = true;
  store_.fail = Error{Code::kDeadlineExceeded, "late"};
  std::vector<Result<ResolvedPtr>> hasty;
  std::vector<Result<ResolvedPtr>> patient;
  Start("acme", hasty, Deadline::At(now + milliseconds(1)));
  Start("acme", patient, Deadline::At(now + milliseconds(9)));
  Start("acme", hasty, Deadline::At(now + milliseconds(1)));
  EXPECT_EQ(store_.entity_reads.size(), 1U);
  store_.hold = false;
  store_.fail.reset();
  store_.Release();
  ASSERT_EQ(hasty.size(), 2U);
  EXPECT_FALSE(hasty[0]);
  EXPECT_FALSE(hasty[1]);
  ASSERT_EQ(patient.size(), 1U);
  EXPECT_TRUE(patient[0]);
}

TEST_F(ResolverTest, WhoHasLessTimeThanTheFetchDoesNotWaitForIt) {
  Change({Put(Level::System(), RpmLimits(1))});
  store_.hold = true;
  std::vector<Result<ResolvedPtr>> results;
  Start("acme", results);
  const Deadline soon = Deadline::After(scheduler_.clock(), milliseconds(1));
  Start("acme", results, soon);
  Start("acme", results, soon);
  Start("acme", results);
  EXPECT_EQ(store_.entity_reads.size(), 2U) << "the last two join the second fetch";
}

TEST_F(ResolverTest, WithoutAnyTrustEachRequestAsks) {
  Change({Put(Level::System(), RpmLimits(1))});
  Resolver resolver(store_.config(), scheduler_.clock(), {.ttl = milliseconds(0)});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Await<ResolvedPtr>([&](Done<ResolvedPtr> done) {
      resolver.Resolve("acme", "gpt-4", Deadline::Never(), std::move(done));
    }));
  }
  EXPECT_EQ(store_.limit_reads.size(), 3U);
  EXPECT_EQ(resolver.stats().size, 0U);
}

// In zae-limiter changes of resource and system levels evicted nothing from the cache (W23).
TEST_F(ResolverTest, RegressionW23AChangeOfAnyLevelIsSeenAtOnce) {
  Change({PutChild("a", "p"), Put(Level::System(), RpmLimits(1))});
  // Resolves the pair often enough for the ThreadCache to store it.
  const auto both = [&](std::int64_t own, std::int64_t parent) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(Capacities("a"), (Caps{own, parent}));
      EXPECT_NE(resolver_.Find("a", "gpt-4"), nullptr);
    }
    const ResolvedPtr found = resolver_.Find("a", "gpt-4");
    EXPECT_EQ(found->targets[1]->limits[0].quota.capacity, parent * kMillitokens);
  };
  both(1, 1);
  Change({Put(Level::System(), RpmLimits(2))});
  both(2, 2);
  Change({Put(Level::Resource("gpt-4"), RpmLimits(3))});
  both(3, 3);
  Change({Put(Level::EntityDefault("p"), RpmLimits(4))});
  both(3, 4);
  Change({Put(Level::Entity("p", "gpt-4"), RpmLimits(5))});
  both(3, 5);
  Change({DeleteLimits{Level::Entity("p", "gpt-4")}});
  both(3, 4);
}

// W18: in zae-limiter an entity that was created after its bucket never cascaded.
TEST_F(ResolverTest, RegressionW18AParentGivenLaterIsChargedFromThenOn) {
  Change({Put(Level::System(), RpmLimits(1))});
  EXPECT_EQ(Capacities("a"), Caps{1});
  Change({PutChild("a", "p")});
  EXPECT_EQ(Capacities("a"), (Caps{1, 1}));
  Change({PutChild("p", "g")});
  EXPECT_EQ(Capacities("a"), (Caps{1, 1, 1}));
  Change({DeleteEntity{"a"}});
  EXPECT_EQ(Capacities("a"), Caps{1});
}

TEST_F(ResolverTest, AChangeOfOneEntityLeavesOthersRemembered) {
  Change({Put(Level::System(), RpmLimits(1))});
  Capacities("a");
  Capacities("b");
  Change({Put(Level::EntityDefault("a"), RpmLimits(2))});
  EXPECT_EQ(resolver_.Find("a", "gpt-4"), nullptr);
  EXPECT_NE(resolver_.Find("b", "gpt-4"), nullptr);
}

TEST_F(ResolverTest, WhatWasUnderWayDuringAChangeIsNotRemembered) {
  Change({Put(Level::System(), RpmLimits(1))});
  store_.hold = true;
  std::vector<Result<ResolvedPtr>> before;
  Start("acme", before);
  store_.Release();  // releases the results of the first reads
  Apply({Put(Level::EntityDefault("acme"), RpmLimits(2))});
  resolver_.DropAffected({.all = false, .entities = {"acme"}});
  std::vector<Result<ResolvedPtr>> after;
  Start("acme", after);
  EXPECT_EQ(store_.entity_reads.size(), 2U) << "who asks after the change does not join";
  store_.Release();
  ASSERT_EQ(before.size(), 1U);
  EXPECT_EQ((*before[0])->source, Level::System());
  store_.hold = false;
  store_.Release();
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ((*after[0])->source, Level::EntityDefault("acme"));
  EXPECT_EQ(Capacities("acme"), Caps{2});
}

TEST_F(ResolverTest, KnowsWhatTheSystemLevelSaysAboutAStoreThatIsAway) {
  EXPECT_FALSE(resolver_.last_on_unavailable());
  Change({Put(Level::System(), RpmLimits(1), OnUnavailable::kAllow)});
  EXPECT_EQ((*Resolve("acme"))->on_unavailable, OnUnavailable::kAllow);
  EXPECT_EQ(resolver_.last_on_unavailable(), OnUnavailable::kAllow);
  Change({Put(Level::System(), RpmLimits(1))});
  EXPECT_FALSE((*Resolve("acme"))->on_unavailable);
  EXPECT_FALSE(resolver_.last_on_unavailable());
}

TEST_F(ResolverTest, IsBounded) {
  Change({Put(Level::System(), RpmLimits(1))});
  for (int i = 0; i < 100; ++i) Capacities("e" + std::to_string(i));
  EXPECT_EQ(resolver_.stats().size, 8U);
  EXPECT_EQ(resolver_.stats().evicted, 92U);
}

TEST(AlteredByTest, NamesEntitiesOrEverything) {
  EXPECT_TRUE(PairsAffectedBy(std::vector{Put(Level::System(), {})}).all);
  EXPECT_TRUE(PairsAffectedBy(std::vector<ConfigChange>{DeleteLimits{Level::Resource("r")}}).all);
  CreateEntity create;
  create.record.entity.id = "c";
  const AffectedPairs some = PairsAffectedBy(std::vector<ConfigChange>{
      Put(Level::Entity("b", "r"), {}), PutChild("a", "p"), DeleteEntity{"b"}, create,
      DeleteLimits{Level::EntityDefault("a")}});
  EXPECT_FALSE(some.all);
  EXPECT_EQ(some.entities, (std::vector<std::string>{"a", "b", "c"}));
  std::vector<ConfigChange> many;
  for (int i = 0; i < 40; ++i) many.push_back(PutChild("e" + std::to_string(i), "p"));
  EXPECT_TRUE(PairsAffectedBy(many).all);
}

}  // namespace
}  // namespace weir
