#include "weir/aws/server_time.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr UnixMillis kTruth{1'767'225'600'000};

class ServerTimeTest : public testing::Test {
 protected:
  /// Observes a response of a server whose clock is wrong by `error`.
  void Respond(milliseconds error = {}, milliseconds round_trip = milliseconds(10)) {
    const UnixMillis server = Truth() + error;
    const ServerDate response{.date = {server.value - server.value % 1000},
                              .sent = boot_ - round_trip / 2,
                              .received = boot_ + round_trip / 2};
    time_.Observe(response, Truth() + wall_error_);
  }
  void Pass(milliseconds time) { boot_ += time; }
  UnixMillis Truth() const { return kTruth + std::chrono::floor<milliseconds>(boot_); }
  milliseconds Error() const { return *time_.Now(boot_) - Truth(); }

  ServerTime time_;
  nanoseconds boot_ = std::chrono::minutes(5);
  milliseconds wall_error_{0};
};

TEST_F(ServerTimeTest, OneResponseIsEnoughIfTheWallClockAgrees) {
  EXPECT_FALSE(time_.Now(boot_));
  wall_error_ = milliseconds(700);
  Respond();
  ASSERT_TRUE(time_.Now(boot_));
  EXPECT_LE(std::chrono::abs(Error()), milliseconds(1010));
}

TEST_F(ServerTimeTest, AWallClockThatIsWrongNeedsTwoResponsesThatAgree) {
  wall_error_ = hours(1);
  Respond();
  EXPECT_FALSE(time_.Now(boot_));
  Respond(hours(-3));
  EXPECT_FALSE(time_.Now(boot_)) << "they do not agree";
  Respond(hours(-3));
  ASSERT_TRUE(time_.Now(boot_));
  EXPECT_LE(std::chrono::abs(Error() - hours(-3)), milliseconds(1010));
}

// Fails if: T follows the wall clock.
TEST_F(ServerTimeTest, TheWallClockIsNotFollowed) {
  Respond();
  const milliseconds before = Error();
  wall_error_ = hours(1);
  for (int i = 0; i < 60; ++i) {
    Pass(seconds(1));
    Respond();
  }
  EXPECT_EQ(Error(), before);
}

TEST_F(ServerTimeTest, StepsForwardAfterThreeResponsesOverTenSeconds) {
  Respond();
  for (int i = 0; i < 50; ++i) Respond(hours(1));
  EXPECT_LE(Error(), milliseconds(1010)) << "within a moment";
  Pass(seconds(9));
  Respond(hours(1));
  EXPECT_LE(Error(), milliseconds(1010));
  Pass(seconds(1));
  Respond(hours(1));
  EXPECT_LE(std::chrono::abs(Error() - hours(1)), milliseconds(1010));
}

TEST_F(ServerTimeTest, OneResponseThatAgreesEndsARun) {
  Respond();
  for (int i = 0; i < 20; ++i) {
    Pass(seconds(4));
    Respond(i % 3 == 2 ? milliseconds(0) : milliseconds(hours(1)));
    ASSERT_LE(Error(), milliseconds(1010)) << i;
  }
}

// Fails if: T jumps back instead of slowing, or slows by more than that.
TEST_F(ServerTimeTest, SlowsByATwentiethIfItIsAheadByLessThanAMinute) {
  Respond();
  const milliseconds error(-30'000);
  for (int i = 0; i < 3; ++i) {
    Pass(seconds(5));
    Respond(error);
  }
  milliseconds before = Error();
  for (int i = 0; i < 300; ++i) {
    Pass(seconds(1));
    Respond(error);
    ASSERT_LE(before - Error(), milliseconds(51)) << i;
    before = Error();
  }
  EXPECT_GE(Error(), milliseconds(-27'000)) << "not yet";
  for (int i = 0; i < 600; ++i) {
    Pass(seconds(1));
    Respond(error);
  }
  EXPECT_LE(std::chrono::abs(Error() - error), milliseconds(3010));
}

TEST_F(ServerTimeTest, StepsBackIfItIsFurtherAhead) {
  Respond();
  for (int i = 0; i < 3; ++i) {
    Pass(seconds(5));
    Respond(hours(-1));
  }
  EXPECT_LE(std::chrono::abs(Error() - hours(-1)), milliseconds(1010));
}

TEST_F(ServerTimeTest, IsConfirmedForTenSecondsByAResponseThatAgrees) {
  EXPECT_FALSE(time_.ConfirmedNow(boot_));
  Respond();
  EXPECT_EQ(time_.ConfirmedNow(boot_), time_.Now(boot_));
  Pass(seconds(9));
  EXPECT_TRUE(time_.ConfirmedNow(boot_));
  Pass(seconds(2));
  EXPECT_FALSE(time_.ConfirmedNow(boot_)) << "no response for so long";
  Respond();
  EXPECT_TRUE(time_.ConfirmedNow(boot_));
}

TEST_F(ServerTimeTest, IsNotConfirmedOnceAResponseExcludesIt) {
  Respond();
  Respond(hours(1));
  EXPECT_FALSE(time_.ConfirmedNow(boot_));
  Respond();
  EXPECT_TRUE(time_.ConfirmedNow(boot_));
}

}  // namespace
}  // namespace weir
