#include "weir/zae_table/actor/round_trips.h"

#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

constexpr Instant kEnded{1'000'000'000'000};

TEST(RoundTripsTest, TheMedianIsOfTheLatestFifteen) {
  RoundTrips trips;
  EXPECT_FALSE(trips.Median(kEnded).has_value());
  trips.Add(milliseconds(500), kEnded);
  EXPECT_EQ(trips.Median(kEnded), milliseconds(500));
  for (int i = 0; i < 15; ++i) trips.Add(milliseconds(10 + i % 2), kEnded);
  EXPECT_EQ(trips.Median(kEnded), milliseconds(10));
}

// Fails if: after a slow network every hasty request is never sent again.
TEST(RoundTripsTest, AMedianOfASecondAgoIsNotBelieved) {
  RoundTrips trips;
  trips.Add(milliseconds(10), kEnded);
  EXPECT_TRUE(trips.Median(kEnded + milliseconds(1'000)).has_value());
  EXPECT_FALSE(trips.Median(kEnded + milliseconds(1'001)).has_value());
}

// Fails if: after a pause the median is that of the requests before it.
TEST(RoundTripsTest, AfterAPauseOnlyNewOnesCount) {
  RoundTrips trips;
  for (int i = 0; i < 15; ++i) trips.Add(milliseconds(10), kEnded);
  const Instant later = kEnded + milliseconds(1'001);
  trips.Add(milliseconds(50), later);
  EXPECT_EQ(trips.Median(later), milliseconds(50));
}

}  // namespace
}  // namespace weir::dynamo
