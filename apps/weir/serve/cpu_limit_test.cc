#include "apps/weir/serve/cpu_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::app {
namespace {

using testing::ElementsAre;

TEST(ParseCpuMax, ReadsTheQuotaInWholeCpus) {
  EXPECT_EQ(ParseCpuMax("max 100000\n"), std::nullopt);
  EXPECT_EQ(ParseCpuMax("200000 100000\n"), 2U);
  EXPECT_EQ(ParseCpuMax("150000 100000"), 2U);
  EXPECT_EQ(ParseCpuMax("1000 100000"), 1U);
  EXPECT_EQ(ParseCpuMax(""), std::nullopt);
  EXPECT_EQ(ParseCpuMax("0 0"), std::nullopt);
}

TEST(ControlGroups, AreThoseFromTheProcessUpToTheRoot) {
  EXPECT_THAT(ControlGroups("0::/system.slice/weir.service\n"),
              ElementsAre("/system.slice/weir.service", "/system.slice", ""));
  EXPECT_THAT(ControlGroups("12:cpu,cpuacct:/old\n0::/new\n"), ElementsAre("/new", ""));
  EXPECT_THAT(ControlGroups("0::/a"), ElementsAre("/a", ""));
}

TEST(ControlGroups, AreTheRootAloneInANamespaceAndWithoutASecondVersion) {
  EXPECT_THAT(ControlGroups("0::/\n"), ElementsAre(""));
  EXPECT_THAT(ControlGroups("0::/../neighbour\n"), ElementsAre(""));
  EXPECT_THAT(ControlGroups("4:cpu:/old\n"), ElementsAre(""));
  EXPECT_THAT(ControlGroups(""), ElementsAre(""));
}

TEST(UsableCpus, IsAtLeastOne) { EXPECT_GE(UsableCpus(), 1U); }

}  // namespace
}  // namespace weir::app
