// Propagation of parents to buckets despite failures, other writers, and an index that lags.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/zae_table/testing/parent_propagation_fixture.h"

namespace weir::dynamo {
namespace {

using testing::HasSubstr;

// Fails if: the search for buckets is not repeated.
TEST(PropagationFailureTest, ABucketThatTheIndexShowsLateIsToldToo) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  auto buckets = rig.PutBuckets("acme", {"llm"});
  rig.server.faults.longest_index_lag = std::chrono::hours(1);
  const auto late = rig.PutBuckets("acme", {"late"});
  rig.server.faults.longest_index_lag = {};
  int stamps = 0;
  rig.client.before = [&](const JsonCall& call) {
    if (call.operation == "UpdateItem" && ++stamps == 3) rig.clock.Advance(std::chrono::hours(1));
  };
  ASSERT_TRUE(rig.Apply({PutEntity{Acme("initech")}}));
  EXPECT_EQ(stamps, 6);
  buckets.insert(buckets.end(), late.begin(), late.end());
  EXPECT_TRUE(rig.AllPropagated(buckets));
}

// Fails if: the record is read only once for both passes.
TEST(PropagationFailureTest, ALateBucketIsToldWhatTheRecordSaysByThen) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  rig.PutBuckets("acme", {"llm"});
  rig.server.faults.longest_index_lag = std::chrono::hours(1);
  const auto late = rig.PutBuckets("acme", {"late"});
  rig.server.faults.longest_index_lag = {};
  int stamps = 0;
  rig.client.before = [&](const JsonCall& call) {
    if (call.operation != "UpdateItem" || ++stamps != 1) return;
    ASSERT_TRUE(rig.Apply({PutEntity{Acme("hooli")}}));
    rig.clock.Advance(std::chrono::hours(1));
  };
  ASSERT_TRUE(rig.Apply({PutEntity{Acme("initech")}}));
  EXPECT_EQ(*GetText(rig.Stamp(), "parent_id"), "hooli");
  EXPECT_TRUE(rig.AllPropagated(late));
}

TEST(PropagationFailureTest, TransactionsOnABucketAreWaitedForANumberOfTimes) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  const auto buckets = rig.PutBuckets("acme", {"a", "b", "c", "d", "e", "f", "g", "h"});
  rig.server.faults.conflict = 0.3;
  ASSERT_TRUE(rig.Apply({PutEntity{Acme("initech")}}));
  EXPECT_GT(rig.server.counts().conflicts, 0U);
  rig.server.faults.conflict = 0;
  EXPECT_TRUE(rig.AllPropagated(buckets));
  rig.client.FailFrom("UpdateItem", 1, FailureClass::kConflict);
  EXPECT_FALSE(rig.Apply({PutEntity{Acme("initech")}}));
}

// Fails if: a record that is already stored is not copied to the buckets again.
TEST(PropagationFailureTest, WhereverItIsCutOffApplyingAgainCompletesIt) {
  int after_the_record = 0;
  for (const char* operation :
       {"Query", "GetItem", "BatchGetItem", "TransactWriteItems", "UpdateItem"}) {
    for (int nth = 1; nth < 20; ++nth) {
      SCOPED_TRACE(fmt::format("{} {}", operation, nth));
      Shared rig;
      ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
      const auto buckets = rig.PutBuckets("acme", {"llm", "llm2"});
      rig.client.FailFrom(operation, nth, FailureClass::kTransient);
      const Status first = rig.Apply({PutEntity{Acme("initech")}});
      rig.client.FailNoMore();
      if (first) break;
      const bool is_stored = (*rig.GetEntities({"acme"}))[0]->entity.parent == "initech";
      const bool says_so = first.error().message.find("acme: it is stored") != std::string::npos;
      EXPECT_EQ(says_so, is_stored) << first.error().message;
      after_the_record += is_stored ? 1 : 0;
      ASSERT_TRUE(rig.Apply({PutEntity{Acme("initech")}}));
      EXPECT_TRUE(rig.AllPropagated(buckets));
    }
  }
  EXPECT_EQ(after_the_record, 2 + 1 + 1 + 6);
}

TEST(PropagationFailureTest, TheErrorSaysHowManyBucketsAreTold) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  const auto buckets = rig.PutBuckets("acme", {"llm"});
  rig.client.FailFrom("UpdateItem", 3, FailureClass::kAuth);
  const Status failed = rig.Apply(
      {PutLimits{Level::System(), {.limits = {{"x", PerMinute(1)}}}}, PutEntity{Acme("initech")}});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message,
              testing::AllOf(HasSubstr("2 of its buckets are updated"), HasSubstr("put it"),
                             HasSubstr("scripted failure")));
  // Everything but the buckets is done.
  EXPECT_EQ(rig.ListLimits().size(), 1U);
}

// Fails if: pgen does not count a change of the flag. Then the slower writer would prevail.
TEST(PropagationFailureTest, OfTwoChangesAtOnceTheLaterIsToldEverywhere) {
  for (const EntityRecord& second : {Acme("hooli"), Acme("globex", false)}) {
    for (int nth = 1; nth <= 6; ++nth) {
      Shared rig;
      ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex", false)}}));
      const auto buckets = rig.PutBuckets("acme", {"llm", "llm2"});
      int stamps = 0;
      rig.client.before = [&](const JsonCall& call) {
        if (call.operation != "UpdateItem" || ++stamps != nth) return;
        ASSERT_TRUE(rig.Apply({PutEntity{second}}));
      };
      ASSERT_TRUE(rig.Apply({PutEntity{Acme("globex")}}));
      EXPECT_EQ(GetFlag(rig.At(buckets[0]), "cascade"), second.entity.cascade);
      EXPECT_TRUE(rig.AllPropagated(buckets));
    }
  }
}

// Fails if: the condition on pgen is missing, if the search for buckets is not repeated, or if a
// record that is already stored is not copied again.
RC_GTEST_PROP(StampFailureProperty, WhoeverWritesAtOnceInTheEndAllBucketsSayWhatTheRecordSays, ()) {
  const auto any_record = rc::gen::apply(
      [](const std::string& parent, bool cascade) {
        return Acme(parent.empty() ? std::nullopt : std::optional(parent), cascade);
      },
      rc::gen::element<std::string>("", "globex", "initech"), rc::gen::arbitrary<bool>());
  Shared rig;
  RC_ASSERT(rig.Apply({CreateEntity{*any_record}}).has_value());
  // The transaction and both queries together take this long.
  rig.server.faults.longest_index_lag = std::chrono::milliseconds(3);
  std::vector<TableKey> buckets;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    buckets.push_back(rig.PutBucket({"acme", fmt::format("r{}", i), 0}));
  }
  rig.server.faults.conflict = 0.2;
  const EntityRecord mine = *any_record;
  const EntityRecord others = *any_record;
  bool failed = false;
  int calls_left = *rc::gen::inRange(0, 15);
  rig.client.before = [&](const JsonCall& call) {
    if (call.operation != "BatchGetItem") rig.clock.Advance(std::chrono::milliseconds(1));
    if (calls_left-- == 0 && !rig.Apply({PutEntity{others}})) failed = true;
  };
  rig.client.FailFrom(*rc::gen::element<std::string>("Query", "UpdateItem", "GetItem"),
                      *rc::gen::inRange(1, 30), FailureClass::kTransient);
  if (!rig.Apply({PutEntity{mine}})) failed = true;
  rig.client.FailNoMore();
  rig.client.before = nullptr;
  const EntityRecord stored = *(*rig.GetEntities({"acme"}))[0];
  // A caller that tries again does so later.
  rig.clock.Advance(std::chrono::milliseconds(3));
  if (failed) RC_ASSERT(rig.Apply({PutEntity{stored}}).has_value());
  RC_ASSERT(rig.AllPropagated(buckets));
}

}  // namespace
}  // namespace weir::dynamo
