#include "apps/weir/terminal/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir::app {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Chart, HasTwelveRowsOverAnAxis) {
  const std::vector<double> columns{12, 6, 0};
  EXPECT_EQ(Draw({.columns = columns}),
            "          15 |\n"
            "             |\n"
            "             |▄\n"
            "             |█\n"
            "             |█\n"
            "             |█\n"
            "             |█\n"
            "             |█▆\n"
            "             |██\n"
            "             |██\n"
            "             |██\n"
            "             |██\n"
            "           0 +---\n");
  EXPECT_EQ(UnderChart("a to b"), "              a to b\n");
}

TEST(Chart, OnlyALineThatIsGivenIsDrawn) {
  const std::vector<double> columns{1, 0};
  EXPECT_THAT(Draw({.columns = columns}), Not(HasSubstr("limit")));
  EXPECT_THAT(Draw({.columns = columns, .line = 2}), HasSubstr("limit |──"));
}

TEST(Chart, NumbersBelowZeroAndZerosAreEmptyColumns) {
  const std::vector<double> columns{-5, 0};
  EXPECT_THAT(Draw({.columns = columns}), StartsWith("           1 |\n"));
  EXPECT_THAT(Draw({.columns = columns}), Not(HasSubstr("▁")));
}

}  // namespace
}  // namespace weir::app
