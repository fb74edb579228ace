#include "apps/weir/serve/process_setup.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "apps/weir/terminal/signal_pipe.h"

namespace weir::app {
namespace {

TEST(BoundConnections, KeepsDescriptorsForTheAdminPagesAndTheStore) {
  const ServiceParts parts{.threads = 4, .listeners = 2, .admin_connections = 100};
  EXPECT_EQ(BoundConnections(20'000, 1'048'576, parts), 20'000U);
  EXPECT_EQ(BoundConnections(20'000, 1'024, parts), 718U);
  EXPECT_EQ(BoundConnections(0, 1'024, parts), 718U);
  EXPECT_EQ(BoundConnections(500, 1'024, parts), 500U);
  EXPECT_EQ(BoundConnections(500, 306, parts), 1U);
  EXPECT_EQ(BoundConnections(0, 10, parts), 1U);
}

// Fails if: the loops or the listeners use up the descriptors of reloads and of the store.
TEST(BoundConnections, KeepsDescriptorsForEachLoopAndListener) {
  EXPECT_EQ(BoundConnections(0, 2'048, {}), 1'856U);
  EXPECT_EQ(BoundConnections(0, 2'048, {.threads = 256}), 1'856U - 768U);
  EXPECT_EQ(BoundConnections(0, 2'048, {.listeners = 5}), 1'851U);
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
