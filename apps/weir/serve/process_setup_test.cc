#include "apps/weir/serve/process_setup.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "apps/weir/terminal/signal_pipe.h"

namespace weir::app {
namespace {

TEST(BoundConnections, KeepsDescriptorsForTheAdminPagesAndTheStore) {
  EXPECT_EQ(BoundConnections(20'000, 1'048'576, 100), 20'000U);
  EXPECT_EQ(BoundConnections(20'000, 1'024, 100), 860U);
  EXPECT_EQ(BoundConnections(0, 1'024, 100), 860U);
  EXPECT_EQ(BoundConnections(500, 1'024, 100), 500U);
  EXPECT_EQ(BoundConnections(500, 164, 100), 1U);
  EXPECT_EQ(BoundConnections(0, 10, 100), 1U);
}

class ProcessSetupTest : public testing::Test {
 protected:
  ProcessSetupTest() {
    getrlimit(RLIMIT_NOFILE, &before_);
    std::signal(SIGHUP, SIG_DFL);
    while (ReadSignal()) continue;
  }
  ~ProcessSetupTest() override {
    setrlimit(RLIMIT_NOFILE, &before_);
    std::signal(SIGPIPE, SIG_DFL);
    std::signal(SIGHUP, SIG_DFL);
  }

  rlimit before_ = {};
};

TEST_F(ProcessSetupTest, RaisesTheBoundOfDescriptorsToTheHardOne) {
  rlimit low = before_;
  low.rlim_cur = 128;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(DescriptorLimit(), 128U);
  ASSERT_TRUE(PrepareServiceProcess());
  EXPECT_GT(DescriptorLimit(), 128U);
  rlimit now = {};
  getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, before_.rlim_max);
}

TEST_F(ProcessSetupTest, ASignalForAReloadOrOfAClosedOutputDoesNotEndTheProcess) {
  ASSERT_TRUE(PrepareServiceProcess());
  raise(SIGPIPE);
  raise(SIGHUP);
  const auto caught = ReadSignal();
  ASSERT_TRUE(caught);
  EXPECT_EQ(caught->number, SIGHUP);
}

}  // namespace
}  // namespace weir::app
