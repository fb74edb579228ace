#include "weir/runtime/deadline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

class FixedClock final : public Clock {
 public:
  explicit FixedClock(Instant now) : now_(now) {}
  Instant Now() const override { return now_; }
  UnixMillis WallNow() const override { return {}; }

 private:
  Instant now_;
};

constexpr Instant kNow{86'400'000'000'007};

TEST(Deadline, ExpiresAtItsInstantAndNotBefore) {
  const Deadline deadline = Deadline::After(FixedClock(kNow), milliseconds(5));
  EXPECT_EQ(deadline.at(), kNow + milliseconds(5));
  EXPECT_FALSE(deadline.ExpiredAt(kNow + milliseconds(5) - nanoseconds(1)));
  EXPECT_TRUE(deadline.ExpiredAt(kNow + milliseconds(5)));
}

// Fails if: a wait overflows as nanoseconds, and its deadline has passed at once.
TEST(Deadline, IsNeverAfterTheLongestWaitOfAnyUnit) {
  const FixedClock clock(kNow);
  EXPECT_TRUE(Deadline::After(clock, nanoseconds::max()).is_never());
  EXPECT_TRUE(Deadline::After(clock, milliseconds::max()).is_never());
  EXPECT_TRUE(Deadline::After(clock, std::chrono::seconds::max()).is_never());
  EXPECT_TRUE(Deadline::After(clock, std::chrono::hours::max()).is_never());
  EXPECT_EQ(Deadline::After(clock, std::chrono::hours(1)).at(), kNow + std::chrono::hours(1));
  EXPECT_EQ(Deadline::After(clock, std::chrono::seconds::min()).at(), kNow);
}

// Fails if: the range of an Instant is converted to the caller's narrow type, and wraps.
TEST(Deadline, AWaitMayHaveANarrowType) {
  using Millis = std::chrono::duration<int, std::milli>;
  for (int days = 0; days < 100; days += 5) {
    const Instant now{std::chrono::nanoseconds(std::chrono::hours(24 * days)).count()};
    EXPECT_EQ(Deadline::After(FixedClock(now), Millis(100)).at(), now + milliseconds(100)) << days;
  }
}

TEST(Deadline, WhatIsLeftIsNotNegative) {
  const Deadline deadline = Deadline::At(kNow);
  EXPECT_EQ(deadline.Left(kNow - nanoseconds(7)), nanoseconds(7));
  EXPECT_EQ(deadline.Left(kNow), nanoseconds(0));
  EXPECT_EQ(deadline.Left(kNow + milliseconds(1)), nanoseconds(0));
}

TEST(Deadline, NeverIsLaterThanAnyOtherAndDoesNotExpire) {
  const Deadline never = Deadline::Never();
  EXPECT_TRUE(never.is_never());
  EXPECT_FALSE(never.ExpiredAt(Instant{INT64_MAX - 1}));
  EXPECT_GT(never, Deadline::At(Instant{INT64_MAX - 1}));
  EXPECT_FALSE(Deadline::At(kNow).is_never());
}

TEST(Deadline, AWaitThatHasNoEndIsNever) {
  EXPECT_TRUE(Deadline::After(FixedClock(kNow), nanoseconds::max()).is_never());
}

TEST(Deadline, AWaitOfNothingOrLessHasExpired) {
  EXPECT_TRUE(Deadline::After(FixedClock(kNow), nanoseconds(0)).ExpiredAt(kNow));
  EXPECT_TRUE(Deadline::After(FixedClock(kNow), nanoseconds(-1)).ExpiredAt(kNow));
}

// Fails if: After adds without checking whether the sum fits (it then wraps into the past).
RC_GTEST_PROP(DeadlineProperty, AfterNeverEndsBeforeItsWait, ()) {
  const auto largest = INT64_MAX;
  const Instant now{*rc::gen::inRange<std::int64_t>(0, largest)};
  const nanoseconds wait(*rc::gen::inRange<std::int64_t>(1, largest));
  const Deadline deadline = Deadline::After(FixedClock(now), wait);
  RC_ASSERT(!deadline.ExpiredAt(now));
  if (!deadline.is_never()) RC_ASSERT(deadline.Left(now) == wait);
  RC_ASSERT(deadline.is_never() == (now.nanos >= largest - wait.count()));
}

}  // namespace
}  // namespace weir
