#include "weir/base/bucket_time.h"

#include <gtest/gtest.h>

#include <deque>

#include "weir/sim/sim_scheduler.h"
#include "weir/store/bucket/label_clock.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr milliseconds kGlitch = std::chrono::days(74 * 365);

/// A clock for which a test sets the next readings of the wall clock.
class MisreadClock final : public Clock {
 public:
  Instant Now() const override { return sim.Now(); }
  nanoseconds BootNow() const override { return sim.BootNow(); }
  UnixMillis WallNow() const override {
    milliseconds error{0};
    if (!errors.empty()) {
      error = errors.front();
      errors.pop_front();
    }
    return sim.WallNow() + error;
  }
  sim::SimClock sim;
  mutable std::deque<milliseconds> errors;
};

TEST(BucketTime, StartsAtTheWallTimeAndFollowsTheTimeSinceBootAlone) {
  sim::SimClock clock;
  const UnixMillis start = clock.WallNow();
  const BucketTime time = BucketTime::FromWall(clock);
  EXPECT_EQ(time.Now(), start);
  clock.SetWall(start + kGlitch);
  EXPECT_EQ(time.Now(), start);
  clock.Advance(seconds(5));
  clock.SetWall(start - hours(1));
  EXPECT_EQ(time.Now(), start + seconds(5));
  clock.Suspend(hours(2), /*is_counted=*/true);
  clock.Suspend(hours(4), /*is_counted=*/false);
  EXPECT_EQ(time.Now(), start + seconds(5) + hours(2));
}

// Fails if: the base is taken from a single one of the three readings, whichever it is.
TEST(BucketTime, OneWrongReadingOfThreeHasNoEffect) {
  for (std::size_t wrong = 0; wrong < 3; ++wrong) {
    for (const milliseconds error : {kGlitch, -kGlitch}) {
      MisreadClock clock;
      const UnixMillis start = clock.sim.WallNow();
      clock.errors.resize(3);
      clock.errors[wrong] = error;
      EXPECT_EQ(BucketTime::FromMedian(clock).Now(), start) << wrong;
    }
  }
}

class LabelClockTest : public testing::Test {
 protected:
  /// Returns the error of the labels after one reading.
  milliseconds Error() { return labels_.Now() - truth_.Now(); }
  void Read(int times, milliseconds apart) {
    for (int i = 0; i < times; ++i) {
      clock_.Advance(apart);
      (void)labels_.Now();
    }
  }

  sim::SimClock clock_;
  const BucketTime truth_ = BucketTime::FromWall(clock_);
  LabelClock labels_{truth_};
};

TEST_F(LabelClockTest, FollowsAClockThatWasSetInBothDirectionsAfterTenSeconds) {
  for (const milliseconds jump : {milliseconds(hours(1)), milliseconds(hours(-1))}) {
    clock_.SetWall(truth_.Now() + jump);
    Read(9, seconds(1));
    EXPECT_NE(Error(), jump) << "after nine samples";
    Read(1, seconds(1));
    EXPECT_EQ(Error(), jump);
  }
}

// Fails if: a step is not logged, or each later reading is logged as well.
TEST_F(LabelClockTest, ASettingIsOneEventWhenItIsFollowed) {
  RecordingLog log;
  LabelClock labels(truth_, {}, log);
  clock_.SetWall(truth_.Now() + hours(1));
  for (int i = 0; i < 30; ++i) {
    clock_.Advance(seconds(1));
    (void)labels.Now();
  }
  EXPECT_EQ(log.lines(), std::vector<std::string>{"warning clock.jumped by_ms=3600000"});
}

TEST_F(LabelClockTest, ReadingsWithinASecondAreOneSample) {
  clock_.SetWall(truth_.Now() + hours(1));
  Read(1000, milliseconds(5));
  EXPECT_EQ(Error(), milliseconds(0));
}

TEST_F(LabelClockTest, AGlitchOfOneReadingHasNoEffect) {
  clock_.SetWall(truth_.Now() + kGlitch);
  EXPECT_EQ(Error(), milliseconds(0));
  clock_.SetWall(truth_.Now());
  Read(100, seconds(1));
  EXPECT_EQ(Error(), milliseconds(0));
}

// Fails if: samples that disagree with each other form a run.
TEST_F(LabelClockTest, AClockThatRunsWildIsNotFollowed) {
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(seconds(1));
    clock_.SetWall(truth_.Now() + hours(1) + seconds(i % 5));
    EXPECT_EQ(Error(), milliseconds(0)) << i;
  }
}

TEST_F(LabelClockTest, ASawtoothOfHalfASecondHasNoEffect) {
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(seconds(1));
    clock_.SetWall(truth_.Now() + milliseconds(i % 2 == 0 ? 500 : -500));
    EXPECT_EQ(Error(), milliseconds(0)) << i;
  }
}

}  // namespace
}  // namespace weir
