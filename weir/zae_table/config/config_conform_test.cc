// Changed limits of an entity are stored in its buckets.
#include "weir/zae_table/config/config_conform.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "weir/store/testing/contract_print.h"
#include "weir/zae_table/testing/parent_propagation_fixture.h"

namespace weir::dynamo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

/// Records the targets and deadlines of its calls.
class RecordingLimits final : public BucketLimits {
 public:
  void Conform(TargetPtr target, Deadline deadline, Done<void> done) override {
    EXPECT_EQ(target->source, LimitSource::kConfigured);
    deadlines.push_back(deadline);
    latest = target;
    ++calls;
    max_pending = std::max(max_pending, pending.size() + 1);
    if (fails && fails(*target)) return done(Fail(*error));
    capacities[fmt::format("{}/{}", target->key.entity, target->key.resource)] =
        target->limits.front().quota.capacity / kMillitokens;
    if (!hold) return done({});
    pending.push_back(std::move(done));
  }
  void RespondToAll() {
    while (!pending.empty()) {
      Done<void> done = std::move(pending.front());
      pending.erase(pending.begin());
      done({});
    }
  }

  std::map<std::string, std::int64_t> capacities;  ///< by "entity/resource", of the latest calls
  std::vector<Deadline> deadlines;
  TargetPtr latest;
  int calls = 0;
  std::function<bool(const Target&)> fails;
  std::optional<Error> error = Error{Code::kUnavailable, "scripted"};
  bool hold = false;
  std::vector<Done<void>> pending;
  std::size_t max_pending = 0;
};

struct ConformRig : Shared {
  Status ApplyAndConform(std::vector<ConfigChange> changes, Deadline deadline = kNever) {
    return Await<void>(
        [&](Done<void> done) { conforming.Apply(std::move(changes), deadline, std::move(done)); });
  }
  /// Returns the capacities of all buckets.
  std::map<std::string, std::int64_t> Capacities() const { return limits.capacities; }

  RecordingLimits limits;
  DynamoConfigStore conforming{
      table,
      keys,
      {.now = [this] { return clock.WallNow(); }, .random = [this] { return ++drawn; }},
      {},
      &limits};
};

PutLimits Sets(Level level, std::int64_t tokens) { return {std::move(level), Rpm(tokens)}; }

TEST(ConfigConformTest, D6LimitsOfAnEntityOnAResourceReachTheirBucket) {
  ConformRig rig;
  rig.PutBuckets("acme", {"gpt-4", "gpt-5"});
  const Deadline deadline = Deadline::After(rig.clock, milliseconds(500));
  ASSERT_TRUE(rig.ApplyAndConform({Sets(kAcme, 10)}, deadline));
  EXPECT_THAT(rig.Capacities(), UnorderedElementsAre(Pair("acme/gpt-4", 10)));
  EXPECT_THAT(rig.limits.deadlines, testing::ElementsAre(deadline));
}

TEST(ConfigConformTest, D6TheDefaultOfAnEntityReachesTheBucketsThatItHoldsFor) {
  ConformRig rig;
  rig.PutBuckets("acme", {"gpt-4", "gpt-5", "images"});
  rig.PutBuckets("globex", {"gpt-4"});
  ASSERT_TRUE(rig.Apply({Sets(kAcme, 10), Sets(Level::Resource("gpt-5"), 20)}));
  ASSERT_TRUE(rig.ApplyAndConform({Sets(Level::EntityDefault("acme"), 30)}));
  EXPECT_THAT(rig.Capacities(),
              UnorderedElementsAre(Pair("acme/gpt-5", 30), Pair("acme/images", 30)));
  EXPECT_EQ(rig.limits.calls, 2) << "each bucket once, however many shards it has";
}

TEST(ConfigConformTest, D6AfterADeletionTheNextLevelHolds) {
  ConformRig rig;
  rig.PutBuckets("acme", {"gpt-4", "images"});
  ASSERT_TRUE(rig.Apply({Sets(kAcme, 10), Sets(Level::EntityDefault("acme"), 20),
                         Sets(Level::Resource("gpt-4"), 30)}));
  ASSERT_TRUE(rig.ApplyAndConform({DeleteLimits{kAcme}}));
  EXPECT_THAT(rig.Capacities(), UnorderedElementsAre(Pair("acme/gpt-4", 20)));
  ASSERT_TRUE(rig.ApplyAndConform({DeleteLimits{Level::EntityDefault("acme")}}));
  EXPECT_THAT(rig.Capacities(), UnorderedElementsAre(Pair("acme/gpt-4", 30)))
      << "images has no limits any more: its bucket stays as it is";
}

TEST(ConfigConformTest, D6LevelsThatEntitiesShareReachNoBucket) {
  ConformRig rig;
  rig.PutBuckets("acme", {"gpt-4"});
  ASSERT_TRUE(rig.ApplyAndConform({Sets(Level::System(), 10), Sets(Level::Resource("gpt-4"), 20),
                                   CreateEntity{Named("acme")}}));
  EXPECT_EQ(rig.limits.calls, 0);
}

TEST(ConfigConformTest, D6TheConfigurationIsStoredBeforeAnyBucketIsReached) {
  ConformRig rig;
  bool is_stored = false;
  rig.limits.fails = [&](const Target&) {
    is_stored = *rig.GetLimits(kAcme) == Rpm(10);
    return false;
  };
  ASSERT_TRUE(rig.ApplyAndConform({Sets(kAcme, 10)}));
  EXPECT_TRUE(is_stored);
}

TEST(ConfigConformTest, D6ABucketGetsTheCapacityThatAnAllowanceLeaves) {
  ConformRig rig;
  const Limit limit{"rps", PerSecond(1000), milliseconds(500)};
  ASSERT_TRUE(rig.ApplyAndConform({PutLimits{kAcme, {.limits = {limit}}}}));
  EXPECT_THAT(rig.Capacities(), UnorderedElementsAre(Pair("acme/gpt-4", 500)));
}

// Fails if: clients of zae-limiter go on with the tokens and the rate from before.
TEST(ConfigConformTest, ALimitThatBlocksReachesTheBucketAsItIsStored) {
  ConformRig rig;
  const Limit blocks{"rpm", {0, 0, 60'000}};
  const Limit stored{"rpm", {1'000, 1'000, kMaxPeriodMillis}};
  ASSERT_TRUE(rig.ApplyAndConform({PutLimits{kAcme, {.limits = {blocks}}}}));
  ASSERT_NE(rig.limits.latest, nullptr);
  EXPECT_THAT(rig.limits.latest->limits, testing::ElementsAre(stored));
  const Limit tpm{"tpm", PerMinute(9)};
  ASSERT_TRUE(rig.ApplyAndConform({PutLimits{kAcme, {.limits = {blocks, tpm}}}}));
  EXPECT_THAT(rig.limits.latest->limits, testing::UnorderedElementsAre(stored, tpm));
}

TEST(ConfigConformTest, D6OfTwoChangesAtOnceTheBucketGetsWhatIsConfiguredInTheEnd) {
  ConformRig rig;
  int reads = 0;
  rig.client.before = [&](const JsonCall& call) {
    // The first read belongs to the change itself.
    if (call.operation != "BatchGetItem" || ++reads != 2) return;
    ASSERT_TRUE(rig.Apply({Sets(kAcme, 20)}));
  };
  ASSERT_TRUE(rig.ApplyAndConform({Sets(kAcme, 10)}));
  EXPECT_THAT(rig.Capacities(), UnorderedElementsAre(Pair("acme/gpt-4", 20)));
}

TEST(ConfigConformTest, D6AllPagesAndAllEntitiesOfAListAreReached) {
  ConformRig rig;
  std::vector<ConfigChange> changes;
  for (int i = 0; i < 60; ++i) {
    changes.emplace_back(Sets(Level::EntityDefault(fmt::format("e{}", i)), 5));
    rig.PutBucket({fmt::format("e{}", i), "gpt-4", 0});
  }
  for (int i = 0; i < 130; ++i) rig.PutBucket({"e7", fmt::format("r{}", i), 0});
  ASSERT_TRUE(rig.ApplyAndConform(std::move(changes)));
  EXPECT_EQ(rig.Capacities().size(), 60U + 130U);
}

TEST(ConfigConformTest, D6ALevelThatAListNamesTwiceIsConformedOnce) {
  ConformRig rig;
  ASSERT_TRUE(rig.ApplyAndConform({Sets(kAcme, 10), DeleteLimits{kAcme}, Sets(kAcme, 20)}));
  EXPECT_THAT(rig.Capacities(), UnorderedElementsAre(Pair("acme/gpt-4", 20)));
  EXPECT_EQ(rig.limits.calls, 1);
}

TEST(ConfigConformTest, D6AtMost25BucketsAreConformedAtATime) {
  ConformRig rig;
  for (int i = 0; i < 60; ++i) rig.PutBucket({"acme", fmt::format("r{}", i), 0});
  rig.limits.hold = true;
  std::optional<Status> applied;
  rig.conforming.Apply({Sets(Level::EntityDefault("acme"), 5)}, kNever,
                       [&](Status result) { applied = std::move(result); });
  EXPECT_FALSE(applied);
  EXPECT_EQ(rig.limits.pending.size(), 25U);
  rig.limits.RespondToAll();
  ASSERT_TRUE(applied);
  EXPECT_TRUE(*applied);
  EXPECT_EQ(rig.limits.max_pending, 25U);
  EXPECT_EQ(rig.Capacities().size(), 60U);
}

TEST(ConfigConformTest, D6ABucketThatCannotBeConformedIsNamedAndTheOthersAre) {
  ConformRig rig;
  for (int i = 0; i < 40; ++i) rig.PutBucket({"acme", fmt::format("r{}", i), 0});
  rig.limits.error = Error{Code::kFailedPrecondition, "its item uses schedules"};
  rig.limits.fails = [](const Target& target) { return target.key.resource.ends_with('7'); };
  const Status failed = rig.ApplyAndConform({Sets(Level::EntityDefault("acme"), 5)});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("the change is stored"), HasSubstr("acme/r7"), HasSubstr("acme/r37"),
                    testing::Not(HasSubstr("acme/r8")), HasSubstr("make the same change again"),
                    HasSubstr("its item uses schedules")));
  EXPECT_EQ(rig.Capacities().size(), 36U);
  EXPECT_EQ(*rig.GetLimits(Level::EntityDefault("acme")), Rpm(5));
}

TEST(ConfigConformTest, D6AConfigurationThatCannotBeReadStopsItsOwnBucketAlone) {
  ConformRig rig;
  rig.PutBuckets("acme", {"gpt-4", "images"});
  ASSERT_TRUE(rig.Apply({Sets(kAcme, 10)}));
  Expression schedule;
  schedule.Set("l_rpm_sched", Of("1h9-17w1-5s500"));
  rig.Change(rig.keys.Config(kAcme), std::move(schedule));
  const Status failed = rig.ApplyAndConform({Sets(Level::EntityDefault("acme"), 5)});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("before it: acme/gpt-4; make"));
  EXPECT_THAT(rig.Capacities(), UnorderedElementsAre(Pair("acme/images", 5)));
}

TEST(ConfigConformTest, D6AStoreThatIsAwayIsNotAskedForEachBucket) {
  ConformRig rig;
  for (int i = 0; i < 60; ++i) rig.PutBucket({"acme", fmt::format("r{}", i), 0});
  rig.PutBuckets("globex", {"gpt-4"});
  rig.limits.fails = [](const Target&) { return true; };
  const Status failed =
      rig.ApplyAndConform({Sets(Level::EntityDefault("acme"), 5), Sets(kAcme, 6)});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kUnavailable);
  EXPECT_LE(rig.limits.calls, 26);
  EXPECT_THAT(failed.error().message, HasSubstr("more; make"));
}

TEST(ConfigConformTest, D6WithoutAStoreOfBucketsLimitsAreStoredAlone) {
  ConformRig rig;
  rig.PutBuckets("acme", {"gpt-4"});
  const int reads = rig.client.Count("Query");
  ASSERT_TRUE(rig.Apply({Sets(Level::EntityDefault("acme"), 5)}));
  EXPECT_EQ(rig.client.Count("Query"), reads);
}

/// A change, and the capacities of the buckets when it is complete.
struct Case {
  ConfigChange change;
  std::map<std::string, std::int64_t> after;
};

// Wherever a change is interrupted by a failure, making it again completes it. (The end of a
// process interrupts it in the same way.)
class ConfigConformFailure : public testing::TestWithParam<int> {
 protected:
  static Case Given() {
    const Level acme = Level::EntityDefault("acme");
    const std::vector<Case> cases = {
        {Sets(kAcme, 10), {{"acme/gpt-4", 10}}},
        {Sets(acme, 20), {{"acme/images", 20}, {"acme/sounds", 20}}},
        {DeleteLimits{kAcme}, {{"acme/gpt-4", 2}}},
        {DeleteLimits{acme}, {{"acme/images", 3}, {"acme/sounds", 3}}},
    };
    return cases[static_cast<std::size_t>(GetParam())];
  }
  static void Prepare(ConformRig& rig) {
    rig.PutBuckets("acme", {"gpt-4", "images", "sounds"});
    ASSERT_TRUE(rig.Apply(
        {Sets(kAcme, 1), Sets(Level::EntityDefault("acme"), 2), Sets(Level::System(), 3)}));
  }
  // Makes the change, and, if it failed, makes it again. Returns true if it had not failed.
  static bool IsCompletedByARepetition(ConformRig& rig, const Case& given) {
    const Status first = rig.ApplyAndConform({given.change});
    rig.client.FailNoMore();
    rig.limits.fails = nullptr;
    const bool deletes = std::holds_alternative<DeleteLimits>(given.change);
    if (!first) {
      const bool is_stored = first.error().message.find("is stored") != std::string::npos;
      const Status second = rig.ApplyAndConform({given.change});
      if (deletes && is_stored) {
        EXPECT_EQ(second.error().code, Code::kNotFound);
      } else {
        EXPECT_TRUE(second) << second.error().message;
      }
    }
    EXPECT_EQ(rig.Capacities(), given.after);
    return first.has_value();
  }
};

TEST_P(ConfigConformFailure, D6ARepetitionCompletesIt) {
  int failed = 0;
  for (const char* operation : {"Query", "BatchGetItem", "TransactWriteItems"}) {
    for (int nth = 1; nth < 20; ++nth) {
      SCOPED_TRACE(fmt::format("{} {}", operation, nth));
      ConformRig rig;
      Prepare(rig);
      rig.client.FailFrom(operation, nth, FailureClass::kTransient);
      if (IsCompletedByARepetition(rig, Given())) break;
      ++failed;
    }
  }
  for (int nth = 1; nth < 20; ++nth) {
    SCOPED_TRACE(fmt::format("bucket {}", nth));
    ConformRig rig;
    Prepare(rig);
    int left = nth;
    rig.limits.fails = [&](const Target&) { return --left == 0; };
    if (IsCompletedByARepetition(rig, Given())) break;
    ++failed;
  }
  const bool is_default = GetParam() % 2 == 1;
  EXPECT_EQ(failed, is_default ? 1 + 4 + 1 + 2 : 2 + 1 + 1);
}

INSTANTIATE_TEST_SUITE_P(Changes, ConfigConformFailure, testing::Range(0, 4));

}  // namespace
}  // namespace weir::dynamo
