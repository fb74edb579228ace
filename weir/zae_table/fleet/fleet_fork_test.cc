// A process that forked: parent and child continue from one state, so they draw the same numbers.
// Each of them is charged, and gets back, its own tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/fleet_callers_fixture.h"
#include "weir/zae_table/testing/fleet_oracle_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using ::testing::IsEmpty;

class FleetFork : public testing::Test {
 protected:
  FleetFork() {
    for (FleetProcess* process : {&parent_, &child_, &other_}) {
      process->network().faults = kUsualTrips;
    }
  }
  void Acquire(FleetProcess& process, std::vector<Charge> charges) {
    ledger_.Acquire(process, std::move(charges), Soon(), [this](const Result<Decision>& decision) {
      admitted_ += decision && decision->admitted ? 1 : 0;
    });
  }
  void ExpectEachCountedOnce() {
    fleet_.scheduler().RunAll();
    EXPECT_THAT(CompareWithTable(ledger_, fleet_, {.late = milliseconds(250)}).broken, IsEmpty());
  }
  Deadline Soon() const { return Deadline::After(fleet_.scheduler().clock(), seconds(3)); }

  mutable Fleet fleet_{13};
  FleetProcess& parent_ = fleet_.JoinWithSeed(5);
  FleetProcess& child_ = fleet_.JoinWithSeed(5);
  FleetProcess& other_ = fleet_.Join();
  FleetLedger ledger_{fleet_.scheduler().clock()};
  const TargetPtr team_ = OneLimit("team", PerMinute(6).Burst(10));
  const TargetPtr user_ = OneLimit("user", PerMinute(6).Burst(50));
  int admitted_ = 0;
};

TEST_F(FleetFork, TakesOfBothCount) {
  for (int i = 0; i < 20; ++i) {
    for (FleetProcess* process : {&parent_, &child_}) Acquire(*process, {{user_, {1'000}}});
    fleet_.scheduler().Advance(milliseconds(i));
  }
  ExpectEachCountedOnce();
  EXPECT_EQ(admitted_, 40);
}

// Responses are lost, so both send again, or find the outcome by the numbers that they drew.
TEST_F(FleetFork, TakesOfBothCountIfAnswersAreLost) {
  for (FleetProcess* process : {&parent_, &child_}) process->network().faults.lose_response = 0.2;
  for (int i = 0; i < 20; ++i) {
    for (FleetProcess* process : {&parent_, &child_}) Acquire(*process, {{user_, {1'000}}});
    fleet_.scheduler().Advance(milliseconds(i));
  }
  ExpectEachCountedOnce();
}

// Both take from the user's bucket, are refused by the team's, and give back the former.
TEST_F(FleetFork, BothGetBackWhatTheyTookFromOneBucketOfTwo) {
  for (FleetProcess* process : {&parent_, &child_}) {
    Acquire(*process, {{user_, {1'000}}, {team_, {1'000}}});
  }
  fleet_.scheduler().RunAll();
  Acquire(other_, {{team_, {8'000}}});
  fleet_.scheduler().RunAll();
  ASSERT_EQ(admitted_, 3);
  for (FleetProcess* process : {&parent_, &child_}) {
    Acquire(*process, {{user_, {2'000}}, {team_, {1'000}}});
  }
  ExpectEachCountedOnce();
  EXPECT_EQ(admitted_, 3);
}

}  // namespace
}  // namespace weir::dynamo
