#include "apps/weir/terminal/stop_request.h"

#include <gtest/gtest.h>

#include <csignal>

namespace weir::app {
namespace {

constexpr std::int64_t kStarted = 5'000'000'000;
constexpr std::int64_t kSecond = StopRequest::kRepetition;

TEST(StopRequest, TheFirstSignalAsksForAStop) {
  StopRequest request;
  EXPECT_FALSE(request.is_made());
  EXPECT_TRUE(request.Note(SIGTERM, kStarted));
  EXPECT_TRUE(request.is_made());
  EXPECT_EQ(request.signal(), SIGTERM);
}

// Q5. Fails if: the signal that timeout(1) sends twice ends the process, or cuts a put short.
TEST(StopRequest, ARepetitionWithinASecondIsTheSameRequest) {
  StopRequest request;
  request.AwaitSecond();
  EXPECT_TRUE(request.Note(SIGTERM, kStarted));
  EXPECT_TRUE(request.Note(SIGTERM, kStarted));
  EXPECT_TRUE(request.Note(SIGINT, kStarted + kSecond - 1));
  EXPECT_FALSE(request.is_hurried());
  EXPECT_EQ(request.signal(), SIGTERM) << "the process reports the first one";
}

TEST(StopRequest, ALaterSignalEndsTheProcess) {
  StopRequest request;
  EXPECT_TRUE(request.Note(SIGINT, kStarted));
  EXPECT_FALSE(request.Note(SIGINT, kStarted + kSecond));
  EXPECT_FALSE(request.is_hurried());
}

TEST(StopRequest, ALaterSignalAsksAVerbThatWaitsForItForHasteOnce) {
  StopRequest request;
  EXPECT_TRUE(request.Note(SIGINT, kStarted));
  request.AwaitSecond();
  EXPECT_TRUE(request.Note(SIGINT, kStarted + kSecond));
  EXPECT_TRUE(request.is_hurried());
  EXPECT_FALSE(request.Note(SIGINT, kStarted + kSecond + 1));
}

}  // namespace
}  // namespace weir::app
