// Groups whose limits are outdated: the store has other parameters than the limiter has cached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "weir/limiter/testing/group_fixture.h"

namespace weir {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class GroupRenewalTest : public GroupTest {
 protected:
  void SetUp() override {
    GroupTest::SetUp();
    ASSERT_TRUE(TakeAll({Rpm("a", 1), Rpm("b", 1)}));
    scheduler_.Advance(milliseconds(10));
    store_.limit_reads.clear();
    store_.acquires.clear();
    store_.judge = [this](std::span<const Charge> charges) { return Judge(charges); };
  }
  /// Changes the limits of an entity as another process does, which then uses the bucket.
  void ChangeElsewhere(const std::string& entity, std::int64_t capacity) {
    memory_->config().Apply({Put(Level::EntityDefault(entity), RpmLimits(capacity))},
                            Deadline::Never(), [](const Status& applied) { ASSERT_TRUE(applied); });
    scheduler_.Advance(milliseconds(1));
    stored_[entity] = {RpmLimits(capacity), Now()};
    scheduler_.Advance(milliseconds(1));
  }

  struct Stored {
    std::vector<Limit> limits;
    Instant seen;
  };
  /// As a shared store does: a charge whose limits were read before the store saw others is
  /// outdated; otherwise the bucket gets the limits of the charge.
  std::optional<Decision> Judge(std::span<const Charge> charges) {
    ++asks_;
    for (const Charge& charge : charges) {
      const auto found = stored_.find(charge.target->key.entity);
      if (found == stored_.end() || found->second.limits == charge.target->limits) continue;
      if (found->second.seen > charge.resolved_at) return Decision{.limits = {}, .outdated = true};
      found->second.limits = charge.target->limits;
      ++repairs_;
    }
    return std::nullopt;
  }

  std::map<std::string, Stored> stored_;
  int asks_ = 0;
  int repairs_ = 0;
};

// Fails if: only the first part is renewed.
TEST_F(GroupRenewalTest, ReadsThePartsAgainAndRepeatsTheRequest) {
  ChangeElsewhere("b", 5);
  const GroupOutcome& got = Decided({Rpm("a", 1), Rpm("b", 1), Rpm("b", 1)});
  ASSERT_TRUE(got.outcome.admitted());
  EXPECT_EQ(got.outcome.decision().limits[1].capacity, 5 * kMillitokens);
  EXPECT_EQ(got.outcome.decision().limits[1].requested, 2 * kMillitokens);
  EXPECT_EQ(got.targets[1][0]->limits, RpmLimits(5));
  EXPECT_EQ(asks_, 2);
  EXPECT_EQ(repairs_, 0);
  EXPECT_THAT(store_.limit_reads, SizeIs(2));  // each pair once
  EXPECT_EQ(limiter_->stats().outdated, 1U);
  EXPECT_EQ(Left("a"), 8);
  EXPECT_TRUE(TakeAll({Rpm("a", 1), Rpm("b", 1)}));
  EXPECT_THAT(store_.limit_reads, SizeIs(2));
}

// Fails if: the limits of a rule are resolved by the four levels.
TEST_F(GroupRenewalTest, AGivenTargetIsNotReadAgain) {
  ChangeElsewhere("b", 5);
  EXPECT_TRUE(TakeAll({Given(Rule("x", 3), {{"rpm", 1}}), Rpm("b", 1)}));
  EXPECT_EQ(asks_, 2);
  EXPECT_THAT(store_.limit_reads, SizeIs(1));
  EXPECT_EQ(Left("x", "rule", 3), 2);
}

// The limits of a rule are current, so the store takes them.
TEST_F(GroupRenewalTest, AGivenTargetRepairsItsBucket) {
  stored_["x"] = {RpmLimits(7), Now() + kSecond};
  EXPECT_TRUE(TakeAll({Given(Rule("x", 3), {{"rpm", 1}}), Rpm("a", 1)}));
  EXPECT_EQ(asks_, 1);
  EXPECT_EQ(repairs_, 1);
}

TEST_F(GroupRenewalTest, LimitsThatChangeAllTheTimeEndInARefusalForContention) {
  store_.judge = [this](auto) {
    ++asks_;
    return Decision{.limits = {}, .outdated = true};
  };
  const std::vector<AcquirePart> parts{Rpm("a", 1), Rpm("b", 1)};
  const auto got = limiter_->AcquireAll({.parts = parts, .on_unavailable = OnUnavailable::kAllow},
                                        Deadline::Never());
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->outcome.decision().contended);
  EXPECT_FALSE(got->outcome.decision().outdated);
  EXPECT_EQ(got->outcome.decision().retry_after, milliseconds(100));
  EXPECT_EQ(asks_, 4);
  store_.limit_reads.clear();
  const TargetPtr own =
      MakeTarget({.entity = "x", .resource = "r"}, RpmLimits(3), LimitSource::kOverride);
  EXPECT_TRUE(Decided({Given(own, {{"rpm", 1}})}).outcome.decision().contended);
  EXPECT_THAT(store_.limit_reads, IsEmpty());
}

TEST_F(GroupRenewalTest, AnAncestorThatAppearsIsChargedOnce) {
  memory_->config().Apply({PutChild("a", "p"), PutChild("b", "p")}, Deadline::Never(),
                          [](const Status& applied) { ASSERT_TRUE(applied); });
  ChangeElsewhere("b", 5);
  EXPECT_TRUE(TakeAll({Rpm("a", 3), Rpm("b", 3)}));
  EXPECT_EQ(Left("p"), 4);
}

// Two pairs below one parent may have been read at different times. The later limits apply.
TEST_F(GroupRenewalTest, ASharedParentHasTheLimitsThatWereReadLast) {
  const auto configure = [&](std::vector<ConfigChange> changes) {
    memory_->config().Apply(std::move(changes), Deadline::Never(),
                            [](const Status& applied) { ASSERT_TRUE(applied); });
  };
  configure({PutChild("c", "p"), PutChild("d", "p"), Put(Level::EntityDefault("p"), RpmLimits(8))});
  EXPECT_TRUE(TakeAll({Rpm("c", 1)}));
  scheduler_.Advance(milliseconds(1));
  configure({Put(Level::EntityDefault("p"), RpmLimits(4))});
  for (const bool c_is_first : {true, false}) {
    const GroupOutcome& got =
        c_is_first ? Decided({Rpm("c", 0), Rpm("d", 0)}) : Decided({Rpm("d", 0), Rpm("c", 0)});
    ASSERT_THAT(got.outcome.decision().limits, SizeIs(3));
    EXPECT_EQ(got.targets[0][1]->limits, RpmLimits(4));
    EXPECT_EQ(got.targets[0][1], got.targets[1][1]);
  }
  EXPECT_FALSE(TakeAll({Rpm("c", 3), Rpm("d", 2)}));
}

TEST_F(GroupRenewalTest, AReadThatFailsEndsTheRequest) {
  ChangeElsewhere("b", 5);
  store_.hold = true;
  const auto& outcome = AskAll({Rpm("a", 1), Rpm("b", 1)});
  store_.fail = Error{Code::kUnavailable, "away"};
  for (int i = 0; i < 4; ++i) store_.Release();
  ASSERT_TRUE(outcome.has_value() && !*outcome);
  EXPECT_EQ(outcome->error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace weir
