#include "weir/base/time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

// Expressions that must not compile: the two kinds of time do not mix, and neither is a bare
// number.
template <class A, class B>
concept Subtract = requires(A a, B b) { a - b; };
template <class A, class B>
concept Add = requires(A a, B b) { a + b; };
template <class A, class B>
concept Compare = requires(A a, B b) { a < b; };
template <class A, class B>
concept Equal = requires(A a, B b) { a == b; };

static_assert(Subtract<Instant, Instant> && Subtract<UnixMillis, UnixMillis>);
static_assert(!Subtract<Instant, UnixMillis> && !Subtract<UnixMillis, Instant>);
static_assert(Compare<Instant, Instant> && Compare<UnixMillis, UnixMillis>);
static_assert(!Compare<Instant, UnixMillis> && !Compare<UnixMillis, Instant>);
static_assert(!Equal<Instant, UnixMillis> && !Equal<UnixMillis, Instant>);
static_assert(!std::is_convertible_v<Instant, UnixMillis>);
static_assert(!std::is_convertible_v<UnixMillis, Instant>);
static_assert(!std::is_constructible_v<UnixMillis, Instant>);
static_assert(!std::is_constructible_v<Instant, UnixMillis>);

static_assert(!Add<Instant, Instant> && !Add<UnixMillis, UnixMillis>);
static_assert(!Add<Instant, std::int64_t> && !Add<UnixMillis, std::int64_t>);
static_assert(!Compare<Instant, std::int64_t> && !Compare<UnixMillis, std::int64_t>);
static_assert(!std::is_convertible_v<std::int64_t, Instant>);
static_assert(!std::is_convertible_v<std::int64_t, UnixMillis>);

// A UnixMillis does not take fractions of a millisecond; an Instant takes every unit.
static_assert(!Add<UnixMillis, nanoseconds>);
static_assert(Add<UnixMillis, std::chrono::seconds> && Add<Instant, std::chrono::hours>);

TEST(Instant, CountsInNanoseconds) {
  constexpr Instant at{1'000'000'007};
  EXPECT_EQ((at + milliseconds(5)).nanos, 1'005'000'007);
  EXPECT_EQ((at - std::chrono::seconds(2)).nanos, -999'999'993);
  EXPECT_EQ(at - Instant{7}, std::chrono::seconds(1));
  EXPECT_LT(at, at + nanoseconds(1));
}

TEST(UnixMillis, CountsInMilliseconds) {
  constexpr UnixMillis at{1'767'225'600'013};
  EXPECT_EQ((at + std::chrono::seconds(1)).value, 1'767'225'601'013);
  EXPECT_EQ((at - std::chrono::hours(1)).value, 1'767'222'000'013);
  EXPECT_EQ(at - UnixMillis{1'767'225'600'000}, milliseconds(13));
  EXPECT_GT(at, UnixMillis{-1});
}

// Fails if: a difference has the wrong sign, or another unit than the sum.
RC_GTEST_PROP(TimeProperty, WhatIsAddedIsTheDifference, ()) {
  constexpr std::int64_t kHalf = INT64_MAX / 2;
  const auto at = *rc::gen::inRange<std::int64_t>(-kHalf, kHalf);
  const auto step = *rc::gen::inRange<std::int64_t>(-kHalf, kHalf);
  RC_ASSERT((Instant{at} + nanoseconds(step)) - Instant{at} == nanoseconds(step));
  RC_ASSERT((Instant{at} + nanoseconds(step)) - nanoseconds(step) == Instant{at});
  RC_ASSERT((UnixMillis{at} + milliseconds(step)) - UnixMillis{at} == milliseconds(step));
  RC_ASSERT((UnixMillis{at} + milliseconds(step)) - milliseconds(step) == UnixMillis{at});
  RC_ASSERT((Instant{at} < Instant{at} + nanoseconds(step)) == (step > 0));
  RC_ASSERT((UnixMillis{at} < UnixMillis{at} + milliseconds(step)) == (step > 0));
}

TEST(SystemClock, IsTheMachinesMonotonicClockInNanoseconds) {
  const auto steady = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  const SystemClock clock;
  const std::int64_t before = steady();
  const Instant now = clock.Now();
  EXPECT_GE(now.nanos, before);
  EXPECT_LE(now.nanos, steady());
}

TEST(SystemClock, TheTimeSinceBootIsTheSameTime) {
  const SystemClock clock;
  const nanoseconds now(clock.Now().nanos);
  const nanoseconds boot = clock.BootNow();
  EXPECT_GE(boot, now);
  EXPECT_LE(boot, nanoseconds(clock.Now().nanos));
}

TEST(SystemClock, TellsTheWallTimeInMilliseconds) {
  const UnixMillis now = SystemClock().WallNow();
  EXPECT_GT(now, UnixMillis{1'577'836'800'000}) << "the year 2020";
  EXPECT_LT(now, UnixMillis{7'258'118'400'000}) << "the year 2200";
}

}  // namespace
}  // namespace weir
