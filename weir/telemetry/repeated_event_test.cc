#include "weir/telemetry/repeated_event.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::seconds;

TEST(RepeatedEvent, WritesOneInEachIntervalAndCountsTheOthers) {
  RepeatedEvent event(seconds(10));
  const Instant start{0};
  EXPECT_EQ(event.ShouldWrite(start), 0);
  EXPECT_EQ(event.ShouldWrite(start + seconds(1)), std::nullopt);
  EXPECT_EQ(event.ShouldWrite(start + seconds(9)), std::nullopt);
  EXPECT_EQ(event.ShouldWrite(start + seconds(10)), 2);
  EXPECT_EQ(event.ShouldWrite(start + seconds(19)), std::nullopt);
  EXPECT_EQ(event.ShouldWrite(start + seconds(60)), 1);
}

}  // namespace
}  // namespace weir
