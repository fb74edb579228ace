// Whole runs of a fleet on hosts whose wall clocks are an hour apart, with a client of
// zae-limiter whose clock is an hour ahead or behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamo/bucket_call.h"
#include "weir/dynamo/fleet_clock_oracle_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::hours;
using ::testing::IsEmpty;

constexpr milliseconds kClockTrip{30};
constexpr milliseconds kClockLate = kDatedAnewAfter + 2 * kClockTrip;
const std::vector<milliseconds> kHourApart{hours(1), milliseconds(0), hours(-1)};

// Fails if: see fleet_clock_planted_test.cc.
TEST(FleetClock, C4AForeignWriterAnHourAheadIsSetBackAMinuteAfterItIsGone) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ClockFleetTerms terms{
        .hosts = kHourApart, .foreign = hours(1), .faults = {.longest_trip = kClockTrip}};
    const ClockFleetRecord record = RunClockFleet(seed, terms);
    const ClockVerdict verdict = JudgeClockFleet(record, kClockLate);
    EXPECT_THAT(verdict.broken, IsEmpty()) << "seed " << seed;
    EXPECT_EQ(record.failed, 0) << "seed " << seed;
    EXPECT_EQ(record.unanswered, 0);
    const int lives = static_cast<int>(record.alive.size());
    EXPECT_EQ(verdict.jumps, lives) << "seed " << seed;
    EXPECT_EQ(verdict.set_back, lives) << "once after each life, and never during one";
    EXPECT_EQ(record.reported, record.alive.size());
    EXPECT_GT(verdict.moved_ahead, 5 * lives);
    EXPECT_GT(verdict.marked, lives);
    EXPECT_GT(verdict.compared, 100 * lives);
    EXPECT_GT(record.admitted, 0);
  }
}

TEST(FleetClock, C4AForeignWriterAnHourAheadIsSetBackWhateverIsLost) {
  int set_back = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ClockFleetTerms terms{.hosts = kHourApart,
                                .foreign = hours(1),
                                .faults = {.refuse = 0.01,
                                           .lose_request = 0.02,
                                           .lose_answer = 0.02,
                                           .duplicate = 0.02,
                                           .fail_before = 0.02,
                                           .fail_after = 0.02,
                                           .throttle = 0.02,
                                           .longest_trip = kClockTrip}};
    const ClockFleetRecord record = RunClockFleet(seed, terms);
    const ClockVerdict verdict = JudgeClockFleet(record, kClockLate);
    EXPECT_THAT(verdict.broken, IsEmpty()) << "seed " << seed;
    EXPECT_EQ(record.unanswered, 0);
    EXPECT_LE(record.reported, static_cast<std::size_t>(verdict.set_back));
    set_back += verdict.set_back;
  }
  EXPECT_GE(set_back, 6);
}

// Hosts ask the service for the time, and a client that is behind moves no time back.
TEST(FleetClock, C4HostsAnHourApartAndAForeignWriterAnHourBehindCostNothing) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ClockFleetTerms terms{
        .hosts = kHourApart, .foreign = hours(-1), .faults = {.longest_trip = kClockTrip}};
    const ClockFleetRecord record = RunClockFleet(seed, terms);
    const ClockVerdict verdict = JudgeClockFleet(record, kClockLate);
    EXPECT_THAT(verdict.broken, IsEmpty()) << "seed " << seed;
    EXPECT_EQ(record.failed, 0) << "seed " << seed;
    EXPECT_EQ(verdict.jumps, 0);
    EXPECT_EQ(verdict.set_back, 0);
    EXPECT_EQ(verdict.marked, 0);
    EXPECT_GT(verdict.compared, 50);
  }
}

}  // namespace
}  // namespace weir::dynamo
