#include "weir/http2/connection_times.h"

#include <gtest/gtest.h>

namespace weir::http2 {
namespace {

using std::chrono::seconds;

constexpr Instant kBegan{1'000'000'000'000};

class ConnectionTimesTest : public testing::Test {
 protected:
  ConnectionTimesTest() { times_.OnHandshake(); }

  ConnectionBounds bounds_{.handshake = seconds(10),
                           .idle = seconds(300),
                           .ping_after = seconds(60),
                           .ping_timeout = seconds(5),
                           .age = seconds(1'000),
                           .drain_notice = seconds(1)};
  ConnectionTimes times_{bounds_, kBegan};
};

TEST_F(ConnectionTimesTest, APeerThatDoesNotShakeHandsIsClosed) {
  ConnectionTimes times(bounds_, kBegan);
  EXPECT_EQ(times.wake(), kBegan + seconds(10));
  EXPECT_EQ(times.TakeDue(kBegan + seconds(9)), TimeAction::kNone);
  EXPECT_EQ(times.TakeDue(kBegan + seconds(10)), TimeAction::kClose);
}

TEST_F(ConnectionTimesTest, AConnectionWithoutStreamsDrainsOnce) {
  times_.OnStreams(1, kBegan);
  times_.OnReceived(kBegan + seconds(50));
  times_.OnStreams(0, kBegan + seconds(50));
  EXPECT_EQ(times_.wake(), kBegan + seconds(350));
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(350)), TimeAction::kDrain);
  times_.OnDrainNotice(kBegan + seconds(350));
  EXPECT_EQ(times_.wake(), kBegan + seconds(351));
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(351)), TimeAction::kEndOfNotice);
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(900)), TimeAction::kNone);
}

TEST_F(ConnectionTimesTest, ASilentPeerWithAStreamIsPingedAndThenClosed) {
  times_.OnStreams(1, kBegan);
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(60)), TimeAction::kPing);
  times_.OnPinged(kBegan + seconds(60));
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(64)), TimeAction::kNone);
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(65)), TimeAction::kClose);
}

TEST_F(ConnectionTimesTest, APeerThatAnswersAPingStays) {
  times_.OnStreams(1, kBegan);
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(60)), TimeAction::kPing);
  times_.OnPinged(kBegan + seconds(60));
  times_.OnReceived(kBegan + seconds(61));
  times_.OnPingResponse();
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(120)), TimeAction::kNone);
  EXPECT_EQ(times_.wake(), kBegan + seconds(121));
}

TEST_F(ConnectionTimesTest, AnOldConnectionDrainsOnce) {
  times_.OnStreams(1, kBegan);
  times_.OnReceived(kBegan + seconds(1'000));
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(1'000)), TimeAction::kDrain);
  times_.OnDrainNotice(kBegan + seconds(1'000));
  EXPECT_EQ(times_.wake(), kBegan + seconds(1'001));
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(1'001)), TimeAction::kEndOfNotice);
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(1'002)), TimeAction::kNone);
}

// Fails if: a connection that ends wakes its driver without a pause.
TEST_F(ConnectionTimesTest, AConnectionThatEndsWaitsForItsLastOutputOnly) {
  times_.OnStreams(1, kBegan);
  times_.OnEnding(kBegan + seconds(400));
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(400)), TimeAction::kNone);
  EXPECT_EQ(times_.wake(), kBegan + seconds(401));
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(401)), TimeAction::kClose);
  EXPECT_EQ(times_.wake(), Instant{INT64_MAX});
  EXPECT_EQ(times_.TakeDue(kBegan + seconds(402)), TimeAction::kNone);
}

}  // namespace
}  // namespace weir::http2
