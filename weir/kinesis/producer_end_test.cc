#include "weir/kinesis/producer_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace weir::kinesis {
namespace {

/// Counts how often the caller of WhenEnded has run.
Done<void> CountIn(int& ended) {
  return [&ended](const Status&) { ++ended; };
}

int RunIfSet(Done<void> done) {
  if (!done) return 0;
  done({});
  return 1;
}

// Fails if: the producer is destroyed while a callback runs on the executor.
TEST(ProducerEnd, IsTheEndOfTheLastDeliveryIfTheCallsHaveEnded) {
  ProducerEnd end;
  int ended = 0;
  end.BeginDeliveries(2);
  EXPECT_FALSE(end.WhenEnded(CountIn(ended)));
  EXPECT_EQ(RunIfSet(end.OnCallsEnded()), 0);
  EXPECT_EQ(RunIfSet(end.EndDelivery()), 0);
  EXPECT_FALSE(end.has_ended());
  EXPECT_EQ(RunIfSet(end.EndDelivery()), 1);
  EXPECT_TRUE(end.has_ended());
  EXPECT_EQ(ended, 1);
}

TEST(ProducerEnd, IsTheEndOfTheCallsIfNoDeliveryIsPending) {
  ProducerEnd end;
  int ended = 0;
  end.BeginDeliveries(1);
  EXPECT_EQ(RunIfSet(end.EndDelivery()), 0) << "calls may be in flight";
  EXPECT_TRUE(end.has_delivered());
  EXPECT_FALSE(end.has_ended());
  EXPECT_FALSE(end.WhenEnded(CountIn(ended)));
  EXPECT_EQ(RunIfSet(end.OnCallsEnded()), 1);
  EXPECT_EQ(RunIfSet(end.OnCallsEnded()), 0) << "the caller runs once";
  EXPECT_EQ(ended, 1);
}

TEST(ProducerEnd, ACallerThatComesAfterwardsRunsAtOnce) {
  ProducerEnd end;
  int ended = 0;
  EXPECT_EQ(RunIfSet(end.OnCallsEnded()), 0);
  EXPECT_EQ(RunIfSet(end.WhenEnded(CountIn(ended))), 1);
  EXPECT_EQ(ended, 1);
}
}  // namespace
}  // namespace weir::kinesis
