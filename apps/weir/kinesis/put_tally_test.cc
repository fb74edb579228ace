#include "apps/weir/kinesis/put_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PutTally::Failure FailureOf(std::uint64_t number, const std::string& line) {
  return {.number = number, .cause = "x", .line = line};
}

// Q1. Fails if: a line is returned before the result of a line above it is known.
TEST(PutTally, Q1FailedLinesComeInTheOrderOfTheInput) {
  PutTally tally(true);
  for (std::uint64_t number = 1; number <= 4; ++number) tally.OnRead(number);
  tally.OnFailed(FailureOf(4, "four"));
  tally.OnFailed(FailureOf(2, "two"));
  EXPECT_THAT(tally.TakeFailedLines(), IsEmpty());
  tally.OnStored(1, nanoseconds(1));
  EXPECT_THAT(tally.TakeFailedLines(), ElementsAre("two"));
  tally.OnFailed(FailureOf(3, "three"));
  EXPECT_THAT(tally.TakeFailedLines(), ElementsAre("three", "four"));
  EXPECT_THAT(tally.TakeFailedLines(), IsEmpty());
}

// Fails if: held lines are not bounded.
TEST(PutTally, Q1WhatWaitsIsBounded) {
  PutTally tally(true);
  const std::string line(kMaxHeldBytes / 4, 'x');
  for (std::uint64_t number = 1; number <= 6; ++number) tally.OnRead(number);
  for (std::uint64_t number = 2; number <= 5; ++number) tally.OnFailed(FailureOf(number, line));
  EXPECT_THAT(tally.TakeFailedLines(), IsEmpty());
  tally.OnFailed(FailureOf(6, "y"));
  EXPECT_EQ(tally.TakeFailedLines().size(), 5U);
}

// Q11. Fails if: the request id of each request makes a separate cause.
TEST(PutTally, Q11OneCauseOfManyRequestsIsOne) {
  PutTally tally(false);
  for (const char* id : {"1a", "2b", "3c"}) {
    tally.OnFailed({.number = 1, .cause = std::string("E: no stream (request ") + id + ")"});
  }
  tally.OnFailed({.number = 4, .cause = "E: no key (that is 4)"});
  tally.OnFailed({.number = 5, .cause = "E: no key (that is 5)"});
  PutOutcome outcome;
  tally.FillOutcome(outcome);
  ASSERT_EQ(outcome.causes.size(), 3U);
  EXPECT_EQ(outcome.causes.front().lines, 3U);
  EXPECT_EQ(outcome.causes.front().text, "E: no stream (request 1a)");
}

}  // namespace
}  // namespace weir::app
