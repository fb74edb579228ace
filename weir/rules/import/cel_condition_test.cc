// The expressions of limitador's limits.
#include "weir/rules/import/cel_condition.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::rules {
namespace {

std::string TextOfConjunction(std::string_view text) {
  const auto all = ParseConjunction(text);
  if (!all) return "none";
  std::string line;
  for (const auto& [path, value] : *all) {
    line += fmt::format("{}/{}/{};", path.index, path.key, value);
  }
  return line;
}

TEST(CelConditionTest, EqualitiesOfDescriptorsAreRead) {
  EXPECT_EQ(TextOfConjunction("descriptors[0].method == 'GET'"), "0/method/GET;");
  EXPECT_EQ(TextOfConjunction(" descriptors [12] ['a-b']==\"it's\" "), "12/a-b/it's;");
  EXPECT_EQ(TextOfConjunction("descriptors[0].a == '1' && descriptors[1][\"b\"] == ''"),
            "0/a/1;1/b/;");
}

TEST(CelConditionTest, OtherExpressionsAreNotRead) {
  for (const char* text :
       {"", "true", "descriptors[0].a != 'x'", "descriptors[0].a == 'x' || descriptors[0].b == 'y'",
        "descriptors[0].a == x", "descriptors[0].a == 'x", "descriptors[0].a == 'x' &&",
        "descriptors[0].a == 'x\\'y'", "descriptors[0].a == '''x'''", "descriptors[0] == 'x'",
        "descriptors[-1].a == 'x'", "descriptors[99999999999].a == 'x'", "method == 'GET'",
        "descriptors[0].a.b == 'x'", "(descriptors[0].a == 'x')", "descriptors[0][''] == 'x'",
        "descriptors[0].a == 'x' descriptors[0].b == 'y'", "descriptors[0].a == r'x'"}) {
    EXPECT_EQ(TextOfConjunction(text), "none") << text;
  }
}

TEST(CelConditionTest, PathsOfDescriptorsAreRead) {
  EXPECT_EQ(ParseDescriptorPath("descriptors[0].user_id"), (DescriptorPath{0, "user_id"}));
  EXPECT_EQ(ParseDescriptorPath("descriptors[3]['user id']"), (DescriptorPath{3, "user id"}));
  for (const char* text : {"user_id", "descriptors[0]", "descriptors[0].a + 'x'", "descriptors[0].",
                           "descriptors[0].a == 'x'", "descriptors[0]['a'"}) {
    EXPECT_FALSE(ParseDescriptorPath(text)) << text;
  }
}

}  // namespace
}  // namespace weir::rules
