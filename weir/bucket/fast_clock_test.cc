#include "weir/bucket/fast_clock.h"

#include <gtest/gtest.h>

#include "weir/bucket/testing/arbitrary.h"

namespace weir {
namespace {

static_assert(NanoClock<SteadyClock> && NanoClock<CoarseClock> && NanoClock<CachedClock> &&
              NanoClock<ClockView>);

class FixedClock final : public Clock {
 public:
  Instant Now() const override { return {41}; }
  UnixMillis WallNow() const override { return {}; }
};

TEST(FastClock, SteadyTellsWhatCoarseToldBeforeOrMore) {
  const std::int64_t coarse = CoarseClock().Nanos();
  const std::int64_t steady = SteadyClock().Nanos();
  EXPECT_GT(coarse, 0);
  EXPECT_LE(coarse, steady);
  EXPECT_LE(steady, SteadyClock().Nanos());
}

TEST(FastClock, CachedTellsTheWordAsItIsNow) {
  ManualTime time;
  const CachedClock clock = time.clock();
  const CachedClock copy = clock;
  time.nanos = 17;
  EXPECT_EQ(clock.Nanos(), 17);
  time.Advance(-20);
  EXPECT_EQ(copy.Nanos(), -3);
}

TEST(FastClock, AViewTellsTheMonotonicTimeOfAClock) {
  const FixedClock fixed;
  EXPECT_EQ(ClockView(fixed).Nanos(), 41);
}

}  // namespace
}  // namespace weir
