#include "weir/zae_table/actor/write_gathering.h"

#include <gtest/gtest.h>

#include "weir/zae_table/testing/fleet_callers_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::microseconds;

class WriteGatheringTest : public testing::Test {
 protected:
  /// A shared write is applied, and fewer parts arrive than callers got results.
  void Miss() {
    gathering_.OnApplied(2, 0, kMost, now_);
    if (gathering_.MaySend(1, now_.at)) return;
    now_.at = gathering_.until();
    gathering_.MaySend(1, now_.at);
  }

  static constexpr std::size_t kMost = 256;  ///< parts of a write

  ProtocolTime now_{.at = {1'000'000'000}, .bucket_time = {}, .round_trip = milliseconds(2)};
  WriteGathering gathering_;
};

TEST_F(WriteGatheringTest, AWriteOfOneCallerHoldsNothing) {
  gathering_.OnApplied(1, 5, kMost, now_);
  EXPECT_TRUE(gathering_.MaySend(1, now_.at));
}

TEST_F(WriteGatheringTest, AWriteIsHeldUntilAllAreBack) {
  gathering_.OnApplied(7, 1, kMost, now_);
  EXPECT_FALSE(gathering_.MaySend(7, now_.at));
  EXPECT_TRUE(gathering_.MaySend(8, now_.at));
}

TEST_F(WriteGatheringTest, AQuarterOfARoundTripAtMostAndAMillisecond) {
  gathering_.OnApplied(8, 0, kMost, now_);
  EXPECT_EQ(gathering_.until(), kNoTime) << "nobody waits yet";
  EXPECT_FALSE(gathering_.MaySend(1, now_.at));
  EXPECT_EQ(gathering_.until(), now_.at + microseconds(500));
  EXPECT_FALSE(gathering_.MaySend(7, now_.at + microseconds(499)));
  EXPECT_TRUE(gathering_.MaySend(7, now_.at + microseconds(500)));
  EXPECT_EQ(gathering_.until(), kNoTime);
  now_.round_trip = std::chrono::seconds(1);
  gathering_ = {};
  gathering_.OnApplied(8, 0, kMost, now_);
  EXPECT_FALSE(gathering_.MaySend(1, now_.at));
  EXPECT_EQ(gathering_.until(), now_.at + milliseconds(1));
}

// A caller of a bucket and its parent gets its result after the later of two writes.
TEST_F(WriteGatheringTest, TheTimeBeginsWithTheFirstPartUpToTwoRoundTripsLater) {
  gathering_.OnApplied(8, 0, kMost, now_);
  EXPECT_FALSE(gathering_.MaySend(1, now_.at + milliseconds(3)));
  EXPECT_EQ(gathering_.until(), now_.at + microseconds(3'500));
  EXPECT_TRUE(gathering_.MaySend(8, now_.at + microseconds(3'100)));
  gathering_.OnApplied(8, 0, kMost, now_);
  EXPECT_TRUE(gathering_.MaySend(1, now_.at + milliseconds(4)));
}

// Fails if: a write that is full waits for callers that it cannot carry.
TEST_F(WriteGatheringTest, AFullWriteIsNotHeld) {
  gathering_.OnApplied(256, 744, kMost, now_);
  EXPECT_TRUE(gathering_.MaySend(744, now_.at));
  gathering_.OnApplied(200, 100, kMost, now_);
  EXPECT_FALSE(gathering_.MaySend(255, now_.at));
  EXPECT_TRUE(gathering_.MaySend(256, now_.at));
}

TEST_F(WriteGatheringTest, WithoutAKnownRoundTripNothingIsHeld) {
  now_.round_trip.reset();
  gathering_.OnApplied(8, 0, kMost, now_);
  EXPECT_TRUE(gathering_.MaySend(1, now_.at));
}

// Fails if: after callers have stayed away, writes are still held often.
TEST_F(WriteGatheringTest, CallersThatStayAwayAreSeldomWaitedFor) {
  int held = 0;
  for (int i = 0; i < 160; ++i) {
    const Instant before = now_.at;
    Miss();
    held += before < now_.at ? 1 : 0;
  }
  EXPECT_LE(held, 14);
  EXPECT_GE(held, 10) << "they may come back some day";
}

TEST_F(WriteGatheringTest, CallersThatComeBackAreWaitedForAgain) {
  for (int i = 0; i < 100; ++i) Miss();
  for (int i = 0; i < 16 && !gathering_.is_holding(); ++i) gathering_.OnApplied(8, 0, kMost, now_);
  ASSERT_TRUE(gathering_.is_holding());
  EXPECT_TRUE(gathering_.MaySend(8, now_.at));
  gathering_.OnApplied(8, 0, kMost, now_);
  EXPECT_TRUE(gathering_.is_holding());
}

struct SharedKey {
  CallerTally all;
  double writes_each = 0;
  nanoseconds mean{0};  // from the request to its result
};

/// Runs callers of one process. `gap` 0: each sends its next request after its result.
SharedKey RunTogether(int count, nanoseconds gap, const CallerTerms& terms) {
  Fleet fleet(7);
  FleetProcess& process = fleet.Join();
  process.network().faults = kUsualTrips;
  FleetCallers callers(fleet, std::chrono::seconds(20));
  for (int i = 0; i < count; ++i) {
    if (gap == nanoseconds(0)) {
      callers.AskInTurn(process, terms);
    } else {
      callers.AskEvery(process, terms, gap, gap * i / count);
    }
  }
  fleet.scheduler().RunAll(100'000'000);
  SharedKey run{.all = callers.Sum()};
  run.writes_each =
      static_cast<double>(WritesOn(fleet, "acme")) / static_cast<double>(run.all.admitted);
  nanoseconds sum{0};
  for (const auto& [asked, wait] : run.all.waits) sum += wait;
  run.mean = sum / static_cast<std::int64_t>(run.all.waits.size());
  return run;
}

CallerTerms ManyTokens(std::string_view entity) {
  return OneToken(OneLimit(entity, PerSecond(10'000).Burst(1'000'000)));
}

// Fails if: the first caller that gets its result writes alone, and the others wait for that write.
TEST(FleetWriteGathering, EightCallersThatAskInTurnShareEveryWrite) {
  const SharedKey run = RunTogether(8, nanoseconds(0), ManyTokens("acme"));
  EXPECT_EQ(run.all.failed, 0);
  EXPECT_LE(run.writes_each, 0.13);
  EXPECT_LE(run.mean, milliseconds(11)) << "a round trip has 10 ms on average";
}

// Fails if: callers are expected when the bucket's write is applied, instead of when they get their
// results, which is after the write on the parent.
TEST(FleetWriteGathering, CallersOfABucketAndItsParentShareTheWritesOnBoth) {
  CallerTerms terms = ManyTokens("acme");
  terms.charges.push_back(ManyTokens("parent").charges.front());
  const SharedKey run = RunTogether(8, nanoseconds(0), terms);
  EXPECT_EQ(run.all.failed, 0);
  EXPECT_LE(run.writes_each, 0.14);
  EXPECT_LE(run.mean, microseconds(12'500)) << "the later of two round trips";
}

// Fails if: single requests wait for others that do not come.
TEST(FleetWriteGathering, CallersThatAskAtTheirOwnTimesHardlyWait) {
  const SharedKey run = RunTogether(8, milliseconds(8), ManyTokens("acme"));
  EXPECT_EQ(run.all.failed, 0);
  EXPECT_LE(run.mean, milliseconds(16)) << "half a round trip until the next write, and that";
}

}  // namespace
}  // namespace weir::dynamo
