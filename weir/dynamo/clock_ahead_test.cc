// Processes whose wall clocks are wrong, and others on the same table.
#include "weir/dynamo/clock_ahead_fixture.h"

namespace weir::dynamo {
namespace {

// Fails if: the bucket is dated by the clock of the process, so that for all others it is refilled
// only after as long as that clock is ahead.
TEST_F(ClockAheadTest, D13AProcessWhoseClockIsAheadDoesNotStopTheRefill) {
  Process right(*this, 1);
  Process ahead(*this, 2, std::chrono::hours(1));
  ASSERT_TRUE(Takes(ahead, 100));
  EXPECT_FALSE(Takes(right, 1));
  scheduler_.Advance(std::chrono::seconds(4));
  EXPECT_TRUE(Takes(right, 10)) << "10 tokens come back each second";
}

// Fails if: a process whose clock is behind finds no refill, or moves the time of the bucket back.
TEST_F(ClockAheadTest, D13AProcessWhoseClockIsBehindGetsItsRefill) {
  Process right(*this, 1);
  Process behind(*this, 2, -std::chrono::hours(1));
  ASSERT_TRUE(Takes(right, 100));
  EXPECT_FALSE(Takes(behind, 1));
  scheduler_.Advance(std::chrono::seconds(4));
  EXPECT_TRUE(Takes(behind, 10));
  EXPECT_FALSE(Takes(behind, 100)) << "nor does it get more than the refill";
}

}  // namespace
}  // namespace weir::dynamo
