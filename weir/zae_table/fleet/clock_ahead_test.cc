// A process whose wall clock is wrong, and a correct one on the same table.
#include "weir/zae_table/testing/clock_ahead_fixture.h"

namespace weir::dynamo {
namespace {

// Fails if: rf is the wall clock of the process, so that no other process refills the bucket before
// its own clock reaches that time.
TEST_F(ClockAheadTest, D13AProcessWhoseClockIsAheadDoesNotStopTheRefill) {
  Process right(*this, 1);
  Process ahead(*this, 2, std::chrono::hours(1));
  ASSERT_TRUE(Takes(ahead, 100));
  EXPECT_FALSE(Takes(right, 1));
  scheduler_.Advance(std::chrono::seconds(4));
  EXPECT_TRUE(Takes(right, 10)) << "10 tokens come back each second";
}

// Fails if: a process whose clock is behind gets no refill, or moves rf back.
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
