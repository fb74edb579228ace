// Decisions of one process on one bucket that are in flight at the same time share writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "weir/zae_table/testing/fleet_fixture.h"

namespace weir::dynamo {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

class SharedWrites : public testing::Test {
 protected:
  void SetUp() override { process_.network().faults.longest_trip = milliseconds(2); }

  void AskMany(int count, const std::vector<TargetPtr>& targets) {
    std::vector<Charge> charges;
    for (const TargetPtr& target : targets) charges.push_back({target, {1'000}});
    for (int i = 0; i < count; ++i) {
      process_.buckets().Acquire(charges, process_.now(),
                                 Deadline::After(fleet_.scheduler().clock(), seconds(5)),
                                 [this](const Result<Decision>& decision) {
                                   admitted_.push_back(decision && decision->admitted);
                                 });
    }
    fleet_.scheduler().RunAll();
  }
  std::uint64_t NewRequests() {
    const std::uint64_t all = fleet_.server().counts().AllRequests();
    return all - std::exchange(seen_, all);
  }
  using seconds = std::chrono::seconds;

  Fleet fleet_{1};
  FleetProcess& process_ = fleet_.Join();
  const std::vector<Limit> limits_{{"rpm", PerMinute(60).Burst(1'000)}};
  const TargetPtr child_ = MakeTarget({"acme", "llm", 0}, limits_);
  const TargetPtr parent_ = MakeTarget({"corp", "llm", 0}, limits_);
  std::vector<bool> admitted_;
  std::uint64_t seen_ = 0;
};

TEST_F(SharedWrites, ABurstIsTwo) {
  AskMany(1, {child_});
  NewRequests();
  AskMany(50, {child_});
  EXPECT_EQ(NewRequests(), 2U) << "the first one, and the others";
  EXPECT_THAT(admitted_, SizeIs(51));
  EXPECT_THAT(admitted_, Each(true));
}

TEST_F(SharedWrites, ABurstOnChildAndParentIsTwoOfEach) {
  AskMany(1, {child_, parent_});
  NewRequests();
  AskMany(50, {child_, parent_});
  EXPECT_EQ(NewRequests(), 4U);
  EXPECT_THAT(admitted_, Each(true));
}

// A write carries up to 256 takes. Takes that do not fit are refused without a write.
TEST_F(SharedWrites, MoreThanThereIsCostsFewRequests) {
  AskMany(2'000, {child_});
  EXPECT_EQ(std::ranges::count(admitted_, true), 1'000);
  EXPECT_THAT(admitted_, SizeIs(2'000));
  EXPECT_LE(NewRequests(), 20U);
  EXPECT_LE(fleet_.server().counts().failed_conditions, 8U);
}

}  // namespace
}  // namespace weir::dynamo
