#include "weir/transport/loop_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Lt;

/// Loops whose connections cost what the test says.
class LoopChoiceTest : public testing::Test {
 protected:
  static constexpr std::size_t kLoops = 3;

  /// Accepts connections at the same time, each of which then uses `share` of a CPU.
  void Accept(int count, double share) {
    for (int i = 0; i < count; ++i) {
      const std::size_t chosen = choice_.Choose(states_, now_);
      ++states_[chosen].connections;
      shares_[chosen] += share;
    }
  }
  void Pass(nanoseconds time) {
    now_ = now_ + time;
    for (std::size_t i = 0; i < kLoops; ++i) {
      states_[i].cpu_time +=
          nanoseconds(static_cast<std::int64_t>(shares_[i] * static_cast<double>(time.count())));
    }
  }
  std::vector<std::size_t> Connections() const {
    return {states_[0].connections, states_[1].connections, states_[2].connections};
  }

  Instant now_{1'000'000'000'000};
  std::vector<LoopState> states_{kLoops, LoopState{}};
  std::vector<double> shares_ = std::vector<double>(kLoops);
  LoopChoice choice_{kLoops, now_};
};

TEST_F(LoopChoiceTest, IdleConnectionsAreSpreadEvenly) {
  Accept(7, 0);
  EXPECT_THAT(Connections(), testing::UnorderedElementsAre(2U, 2U, 3U));
  Pass(seconds(10));
  states_[0].connections = 0;
  Accept(2, 0);
  EXPECT_EQ(states_[0].connections, 2U);
}

// Fails if: connections are dealt by their number alone.
TEST_F(LoopChoiceTest, ABusyLoopGetsNoConnectionWhileOthersAreLessBusy) {
  Accept(1, 0.9);
  Accept(2, 0.01);
  Pass(seconds(2));
  const std::size_t busy = shares_[0] > 0.5 ? 0 : shares_[1] > 0.5 ? 1 : 2;
  Accept(4, 0.01);
  EXPECT_EQ(states_[busy].connections, 1U);
}

// Fails if: all of them go to the loop that was the least busy before.
TEST_F(LoopChoiceTest, ConnectionsThatArriveTogetherAreSpread) {
  Accept(3, 0.2);
  Pass(seconds(2));
  shares_[1] = 0;
  Pass(seconds(2));
  Accept(30, 0.02);
  EXPECT_THAT(Connections(), testing::Each(Lt(18U)));
}

// Fails if: the load is that since the start, or is measured over a time without a meaning.
TEST_F(LoopChoiceTest, TheLoadIsThatSinceTheLastMeasurement) {
  Accept(3, 0.5);
  Pass(std::chrono::hours(10));
  Accept(3, 0);
  shares_ = {0, 0.9, 0.9};
  Pass(seconds(2));
  const std::size_t before = states_[0].connections;
  Accept(1, 0);
  EXPECT_EQ(states_[0].connections, before + 1);
  Pass(milliseconds(1));  // too short: the measurement before stays in force
  Accept(1, 0);
  EXPECT_EQ(states_[0].connections, before + 2);
}

TEST_F(LoopChoiceTest, OneLoopGetsAll) {
  LoopChoice choice(1, now_);
  const std::vector<LoopState> states = {{.cpu_time = seconds(5), .connections = 9}};
  EXPECT_EQ(choice.Choose(states, now_), 0U);
  EXPECT_EQ(choice.Choose(states, now_ + seconds(9)), 0U);
}

}  // namespace
}  // namespace weir::transport
