// The actor of one bucket, event by event: its parts and its writes.
#include "weir/zae_table/actor/bucket_actor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "weir/zae_table/testing/sharding_fixture.h"

namespace weir::dynamo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = PartOutcome::Kind;

/// An actor on a bucket with a capacity of 100 tokens, 10 of them refilled each second, and the
/// writes that it sends. A test responds to them in any order.
class BucketActorTest : public testing::Test {
 protected:
  BucketActorTest() { actor_.OnRead(BucketItems{ShardItem(0, 1, 50'000), {}, false}, now_, step_); }

  PartId Accept(Part::Kind kind, std::int64_t amount, milliseconds patience = {}) {
    Part part{.id = ++terms_.last_part,
              .kind = kind,
              .call = terms_.last_part,
              .target = MakeTarget({"acme", "llm", 0}, {kRpm}),
              .amounts = {amount},
              .now = now_.bucket_time,
              .began_at = now_.at,
              .adjust_id = {1, terms_.last_part}};
    if (patience > milliseconds(0)) part.report_by = part.drop_by = now_.at + patience;
    if (part.is_adjust()) part.drop_by = now_.at + std::chrono::seconds(10);
    const PartId id = part.id;
    actor_.Accept(std::move(part));
    actor_.Continue(now_, step_);
    return id;
  }
  PartId Take(std::int64_t tokens, milliseconds patience = {}) {
    return Accept(Part::Kind::kTake, tokens * 1'000, patience);
  }
  /// Repeats the latest adjust with its id.
  void AdjustAgain(std::int64_t amount) {
    const AdjustId adjust_id{1, terms_.last_part};
    actor_.Accept({.id = ++terms_.last_part,
                   .kind = Part::Kind::kAdjust,
                   .call = terms_.last_part,
                   .target = MakeTarget({"acme", "llm", 0}, {kRpm}),
                   .amounts = {amount},
                   .now = now_.bucket_time,
                   .began_at = now_.at,
                   .drop_by = now_.at + std::chrono::seconds(10),
                   .adjust_id = adjust_id});
    actor_.Continue(now_, step_);
  }
  Opinion Judge(std::int64_t tokens) {
    return actor_.Judge({.target = MakeTarget({"acme", "llm", 0}, {kRpm}),
                         .amounts = {tokens * 1'000},
                         .now = now_.bucket_time,
                         .began_at = now_.at},
                        now_);
  }
  void Wait(milliseconds time) {
    now_.at = now_.at + time;
    now_.bucket_time = now_.bucket_time + time;
    actor_.OnTime(now_, step_);
  }
  /// Returns a response with an item that has these millitokens. Other attributes are not those
  /// that the write leaves.
  WriteResponse Left(std::int64_t tokens) {
    return {.item = ShardItem(0, 1, tokens), .key_range_throttled = false};
  }
  void Lose(std::uint64_t write) {
    actor_.OnWrite(write,
                   tl::unexpected(WriteFailure{.kind = FailureClass::kAmbiguous,
                                               .error = {Code::kUnavailable, "no answer"},
                                               .maybe_applied = true}),
                   now_, step_);
  }
  /// The condition of the write fails, and the response contains `item`.
  void FailOn(std::uint64_t write, Item item) {
    actor_.OnWrite(write,
                   tl::unexpected(WriteFailure{.kind = FailureClass::kConditional,
                                               .error = {Code::kAborted, "the condition failed"},
                                               .old_item = std::move(item)}),
                   now_, step_);
  }
  /// Claims a slot by a write that is applied.
  void HoldSlot() {
    Take(1);
    actor_.OnWrite(LastWrite(), Left(49'000), now_, step_);
    step_ = {};
  }
  std::vector<Kind> Outcomes() {
    std::vector<Kind> kinds;
    for (const PartOutcome& outcome : std::exchange(step_.reports.outcomes, {})) {
      if (outcome.call != 0) kinds.push_back(outcome.kind);
    }
    return kinds;
  }
  std::size_t Sends() const { return step_.sends.size(); }
  std::uint64_t LastWrite() const { return step_.sends.back().write; }
  std::string TextOfLast() const {
    std::string text;
    step_.sends.back().writes.front().expression.AppendTo(text);
    return text;
  }

  std::uint64_t drawn_ = 0;
  ActorTerms terms_{.keys = kShardKeys,
                    .writes = WriteQuota(),
                    .refusal_age = milliseconds(1'000),
                    .repair_rest = milliseconds(1'000),
                    .instance = 1,
                    .draw = [this] { return ++drawn_; }};
  ProtocolTime now_{.at = {1'000'000'000'000}, .bucket_time = kShardStart};
  BucketActor::Step step_;
  BucketActor actor_{terms_, {"acme", "llm", 0}};
};

// Fails if: parts that are accepted while a write is in flight do not share the next write.
TEST_F(BucketActorTest, OneWriteIsInFlightAndTheNextCarriesAllThatCame) {
  Take(1);
  ASSERT_THAT(step_.sends, SizeIs(1));
  Take(2);
  Take(3);
  EXPECT_THAT(step_.sends, SizeIs(1));
  actor_.OnWrite(LastWrite(), Left(49'000), now_, step_);
  EXPECT_THAT(step_.sends, SizeIs(2));
  actor_.OnWrite(LastWrite(), Left(44'000), now_, step_);
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kApplied, Kind::kApplied, Kind::kApplied));
  EXPECT_TRUE(actor_.is_idle());
}

// Fails if: a take is judged without regard to the pending takes.
TEST_F(BucketActorTest, WhatIsPendingIsReserved) {
  Take(30);
  EXPECT_EQ(Judge(20).kind, Opinion::Kind::kMayPay);
  const Opinion refused = Judge(21);
  EXPECT_EQ(refused.kind, Opinion::Kind::kRefused);
  EXPECT_EQ(refused.verdict.wait, milliseconds(100));
}

TEST_F(BucketActorTest, ATakeThatDoesNotFitIsRefusedAndTheRestGo) {
  Take(1);
  Take(45);
  Take(10);
  Take(4);
  actor_.OnWrite(LastWrite(), Left(49'000), now_, step_);
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kApplied, Kind::kRefused));
  actor_.OnWrite(LastWrite(), Left(0), now_, step_);
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kApplied, Kind::kApplied));
}

/// Returns an item all of whose slots belong to other processes that have just written.
Item TakenByOthers(const BucketKey& key, UnixMillis now) {
  Item item = ShardItem(key.shard, 1, 49'000);
  for (std::size_t i = 0; i < kFenceSlots; ++i) {
    item[SlotAttribute(i)] = Of(FenceValue{.instance = 77, .at = now, .draw = 1});
  }
  return item;
}

// Fails if: a take that may have been charged is charged again, and its decision does not say so.
TEST_F(BucketActorTest, ATakeWhoseSlotWasLostIsRepeatedOnceAndSaysSo) {
  Take(1);
  Lose(LastWrite());
  Wait(milliseconds(50));
  ASSERT_THAT(step_.sends, SizeIs(2));
  const auto fail = [&] { FailOn(LastWrite(), TakenByOthers(actor_.key(), now_.bucket_time)); };
  fail();
  ASSERT_THAT(step_.sends, SizeIs(3)) << "repeated, without a slot";
  actor_.OnWrite(LastWrite(), Left(48'000), now_, step_);
  ASSERT_THAT(step_.reports.outcomes, SizeIs(1));
  EXPECT_EQ(step_.reports.outcomes.front().kind, Kind::kApplied);
  EXPECT_TRUE(step_.reports.outcomes.front().in_doubt);
}

// Fails if: a process cannot find out whether its creation of an item was applied.
TEST_F(BucketActorTest, ANewItemHasTheSlotOfItsWriter) {
  BucketActor fresh(terms_, {"acme", "llm", 0});
  fresh.OnRead(BucketItems{std::nullopt, {}, false}, now_, step_);
  fresh.Accept({.id = ++terms_.last_part,
                .call = 1,
                .target = MakeTarget({"acme", "llm", 0}, {kRpm}),
                .amounts = {1'000},
                .now = now_.bucket_time,
                .began_at = now_.at});
  fresh.Continue(now_, step_);
  ASSERT_THAT(step_.sends, SizeIs(1));
  const FenceSlots slots = ReadSlots(step_.sends.front().writes.front().item);
  EXPECT_EQ(std::ranges::count_if(slots, [](const auto& slot) { return slot.has_value(); }), 1);
}

TEST_F(BucketActorTest, ATakeWithLessTimeThanARoundTripIsNotSent) {
  now_.round_trip = milliseconds(10);
  Take(1, milliseconds(9));
  EXPECT_THAT(step_.sends, IsEmpty());
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kFailed));
  now_.round_trip.reset();
  Take(1, milliseconds(9));
  EXPECT_THAT(step_.sends, SizeIs(1)) << "how long a round trip takes is not known";
}

// Fails if: a write stays in doubt for ever, so that the actor is never idle again.
TEST_F(BucketActorTest, ADoubtEndsAfterTenSeconds) {
  Accept(Part::Kind::kAdjust, -5'000);
  Lose(LastWrite());
  for (int i = 0; i < 40; ++i) {
    Wait(milliseconds(400));
    for (const auto& send : std::exchange(step_.sends, {})) Lose(send.write);
  }
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kFailed));
  EXPECT_EQ(step_.reports.forfeits, 1);
  EXPECT_TRUE(actor_.is_idle());
  EXPECT_EQ(actor_.wake(), kNoTime);
}

TEST_F(BucketActorTest, ACallerIsAnsweredAtItsDeadlineAndItsTakeReturns) {
  Take(5, milliseconds(20));
  EXPECT_EQ(actor_.wake(), now_.at + milliseconds(20));
  Wait(milliseconds(20));
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kFailed));
  const std::size_t before = Sends();
  actor_.OnWrite(step_.sends.front().write, Left(45'000), now_, step_);
  ASSERT_EQ(Sends(), before + 1) << "the return";
  EXPECT_THAT(TextOfLast(), ::testing::HasSubstr("\"5000\""));
  EXPECT_THAT(Outcomes(), IsEmpty()) << "the caller has its answer";
}

TEST_F(BucketActorTest, ASlowWriteIsSupersededAtMostTwice) {
  now_.round_trip = milliseconds(10);
  HoldSlot();
  Take(1);
  EXPECT_EQ(actor_.wake(), now_.at + milliseconds(30));
  for (int i = 0; i < 5; ++i) Wait(milliseconds(30));
  EXPECT_EQ(Sends(), 3U);
}

// Fails if: a take that has enough time for one round trip waits for other callers, and its time
// then does not suffice.
TEST_F(BucketActorTest, ACallerWithLittleTimeWaitsForNoOthers) {
  now_.round_trip = milliseconds(4);
  HoldSlot();
  for (int i = 0; i < 4; ++i) Take(1);
  actor_.OnWrite(LastWrite(), Left(48'000), now_, step_);
  actor_.OnWrite(LastWrite(), Left(45'000), now_, step_);
  const std::size_t before = Sends();
  Take(1);
  EXPECT_EQ(Sends(), before) << "three callers were answered together, and one is back";
  Take(1, milliseconds(5));
  EXPECT_EQ(Sends(), before + 1);
}

// Fails if: the write that claims a slot is superseded early. Another process moves rf, so the
// second write fails and does not show whether the first one was applied, whose response is only
// late.
TEST_F(BucketActorTest, ALateResponseToTheFirstWriteLeavesNoDoubt) {
  now_.round_trip = milliseconds(2);
  Take(1);
  Wait(milliseconds(99));
  ASSERT_EQ(Sends(), 1U);
  Item moved = ShardItem(0, 1, 49'000);
  moved.insert_or_assign("rf", Of(kShardStart.value + 50));
  FailOn(LastWrite(), moved);
  ASSERT_EQ(Sends(), 2U);
  actor_.OnWrite(LastWrite(), Left(48'000), now_, step_);
  ASSERT_EQ(step_.reports.outcomes.size(), 1U);
  EXPECT_FALSE(step_.reports.outcomes.front().in_doubt);
}

// Fails if: a table whose responses are all slow receives writes more than once.
TEST_F(BucketActorTest, AWriteThatTakesAsLongAsAllOthersIsSentOnce) {
  now_.round_trip = milliseconds(150);
  Take(1);
  Wait(milliseconds(449));
  EXPECT_EQ(Sends(), 1U);
  Wait(milliseconds(1));
  EXPECT_EQ(Sends(), 2U);
}

// Fails if: the repetition of an adjust is written while the first one is pending.
TEST_F(BucketActorTest, APendingAdjustAndItsRepetitionShareTheOutcome) {
  Accept(Part::Kind::kAdjust, 5'000);
  AdjustAgain(5'000);
  ASSERT_EQ(Sends(), 1U);
  actor_.OnWrite(LastWrite(), Left(45'000), now_, step_);
  EXPECT_EQ(Sends(), 1U);
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kApplied, Kind::kApplied));
}

TEST_F(BucketActorTest, AnAdjustAndItsRepetitionExpireTogether) {
  Take(1);
  Accept(Part::Kind::kAdjust, 5'000);
  AdjustAgain(5'000);
  Wait(std::chrono::seconds(10));
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kFailed, Kind::kFailed));
}

// Fails if: a repetition with a later deadline ends at the deadline of the first adjust.
TEST_F(BucketActorTest, ARepetitionHasItsOwnTime) {
  Take(1);
  Accept(Part::Kind::kAdjust, 5'000);
  Wait(std::chrono::seconds(9));
  AdjustAgain(5'000);
  Wait(std::chrono::seconds(2));
  EXPECT_THAT(Outcomes(), IsEmpty());
}

// Fails if: an actor whose read is in flight may be evicted, so that the response reaches a new
// actor.
TEST_F(BucketActorTest, AnActorThatReadsIsNotIdle) {
  actor_.Refresh();
  actor_.Continue(now_, step_);
  ASSERT_TRUE(step_.read);
  EXPECT_FALSE(actor_.is_idle());
  actor_.OnRead(BucketItems{ShardItem(0, 1, 50'000), {}, false}, now_, step_);
  EXPECT_TRUE(actor_.is_idle());
}

TEST_F(BucketActorTest, AnAdjustAndItsRepetitionFailTogetherIfTheItemCannotBeRead) {
  actor_.Forget();
  Accept(Part::Kind::kAdjust, 5'000);
  AdjustAgain(5'000);
  ASSERT_TRUE(step_.read);
  actor_.OnRead(Fail(Code::kFailedPrecondition, "unreadable"), now_, step_);
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kFailed, Kind::kFailed));
  EXPECT_TRUE(actor_.is_idle());
}

// Fails if: a failure that may pass fails an adjust, or keeps a take pending.
TEST_F(BucketActorTest, AThrottledWriteFailsItsTakesAndKeepsItsAdjusts) {
  Take(1);
  Accept(Part::Kind::kAdjust, -1'000);
  const auto throttle = [&] {
    actor_.OnWrite(LastWrite(),
                   tl::unexpected(WriteFailure{.kind = FailureClass::kThrottle,
                                               .error = {Code::kUnavailable, "slow down"}}),
                   now_, step_);
  };
  throttle();
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kFailed));
  Wait(milliseconds(30));
  throttle();
  EXPECT_THAT(Outcomes(), IsEmpty());
  Wait(milliseconds(60));
  actor_.OnWrite(LastWrite(), Left(51'000), now_, step_);
  EXPECT_THAT(Outcomes(), ElementsAre(Kind::kApplied));
}

}  // namespace
}  // namespace weir::dynamo
