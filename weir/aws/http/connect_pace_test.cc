#include "weir/aws/http/connect_pace.h"

#include <gtest/gtest.h>

namespace weir::internal {
namespace {

constexpr Instant kStart{1'000'000'000};

TEST(ConnectPace, AFailureAllowsOneConnectionAfterAPauseThatDoubles) {
  ConnectPace pace;
  EXPECT_EQ(pace.MaxAt(kStart), ConnectPace::kMaxAtOnce);
  Instant now = kStart;
  for (const int pause : {50, 100, 200, 400, 800, 1'000, 1'000}) {
    pace.OnFailed(now);
    EXPECT_EQ(pace.MaxAt(now + milliseconds(pause) - nanoseconds(1)), 0U);
    now = now + milliseconds(pause);
    EXPECT_EQ(pace.next(), now);
    EXPECT_EQ(pace.MaxAt(now), 1U);
    pace.OnStarted(now);
    EXPECT_EQ(pace.MaxAt(now), 0U);
  }
  pace.OnResponse();
  EXPECT_EQ(pace.MaxAt(now), ConnectPace::kMaxAtOnce);
  EXPECT_LE(pace.next(), kStart);
}

// Fails if: sixteen connections that were started together count as sixteen failures.
TEST(ConnectPace, FailuresDuringAPauseDoNotLengthenIt) {
  ConnectPace pace;
  for (int i = 0; i < 16; ++i) pace.OnFailed(kStart + milliseconds(i));
  EXPECT_EQ(pace.next(), kStart + ConnectPace::kFirstPause);
}

}  // namespace
}  // namespace weir::internal
