#include "weir/store/config/audit_horizon.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <deque>
#include <utility>

namespace weir {
namespace {

using std::chrono::days;
using std::chrono::hours;

constexpr days kLife(90);

TEST(AuditHorizon, AnEventExpiresWhenItsRetentionHasPassed) {
  AuditHorizon horizon({}, hours(5), /*is_same_boot=*/false);
  const milliseconds expiry = horizon.ExpiryOfNew(kLife);
  EXPECT_LT(horizon.Count(hours(5) + kLife - milliseconds(1)), expiry);
  EXPECT_GE(horizon.Count(hours(5) + kLife), expiry);
}

TEST(AuditHorizon, PartsOfAMillisecondAreNotLost) {
  AuditHorizon horizon({}, nanoseconds(0), /*is_same_boot=*/true);
  for (int i = 1; i <= 1000; ++i) (void)horizon.Count(std::chrono::microseconds(i * 300));
  EXPECT_EQ(horizon.state().uptime, milliseconds(300));
}

// Processes and machines restart, and machines are off for some time. Fails if: the time since one
// boot is counted in another one, or the time before the first event counts.
RC_GTEST_PROP(AuditHorizonProperty, NoEventExpiresBeforeItsRetentionHasPassed, ()) {
  milliseconds truth(0);
  nanoseconds boot = hours(3);
  AuditHorizon horizon({}, boot, /*is_same_boot=*/false);
  std::deque<std::pair<milliseconds, milliseconds>> events;  // expiry, birth
  const int steps = *rc::gen::inRange(1, 400);
  for (int i = 0; i < steps; ++i) {
    const milliseconds step = std::chrono::minutes(*rc::gen::inRange(0, 48 * 60));
    truth += step;
    boot += step;
    const int restart = *rc::gen::inRange(0, 8);
    if (restart == 0) {  // the machine restarts after it was off for a while
      truth += hours(*rc::gen::inRange(0, 100));
      boot = std::chrono::seconds(*rc::gen::inRange(0, 1'000'000));
    }
    if (restart <= 1) horizon = AuditHorizon(horizon.state(), boot, restart == 1);
    const milliseconds expired = horizon.Count(boot);
    while (!events.empty() && events.front().first <= expired) {
      RC_ASSERT(truth - events.front().second >= kLife);
      events.pop_front();
    }
    events.emplace_back(horizon.ExpiryOfNew(kLife), truth);
  }
}

}  // namespace
}  // namespace weir
