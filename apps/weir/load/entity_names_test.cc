#include "apps/weir/load/entity_names.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace weir::app {
namespace {

std::vector<std::string> Expand(const std::string& text) {
  const Result<EntityNames> names = EntityNames::Parse(text);
  if (!names) return {names.error().message};
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < names->size(); ++i) all.push_back(names->At(i));
  return all;
}

using Names = std::vector<std::string>;

TEST(EntityNames, ANameIsItself) { EXPECT_EQ(Expand("acme"), (Names{"acme"})); }

TEST(EntityNames, AListKeepsItsOrder) {
  EXPECT_EQ(Expand("acme,bolt:1,acme"), (Names{"acme", "bolt:1", "acme"}));
}

TEST(EntityNames, APatternCounts) {
  EXPECT_EQ(Expand("user-{9..11}"), (Names{"user-9", "user-10", "user-11"}));
  EXPECT_EQ(Expand("{1..2}@x"), (Names{"1@x", "2@x"}));
  EXPECT_EQ(Expand("u{5..5}"), (Names{"u5"}));
}

TEST(EntityNames, ALeadingZeroKeepsTheWidth) {
  EXPECT_EQ(Expand("u{08..11}"), (Names{"u08", "u09", "u10", "u11"}));
  EXPECT_EQ(Expand("u{0..1}"), (Names{"u0", "u1"}));
}

TEST(EntityNames, AListMayHoldPatterns) {
  EXPECT_EQ(Expand("a,b{1..2},c"), (Names{"a", "b1", "b2", "c"}));
}

TEST(EntityNames, LargePatternsAreNotExpanded) {
  const Result<EntityNames> names = EntityNames::Parse("user-{1..10000000}");
  ASSERT_TRUE(names);
  EXPECT_EQ(names->size(), 10'000'000U);
  EXPECT_EQ(names->At(9'999'999), "user-10000000");
}

TEST(EntityNames, RefusesWhatIsNoPattern) {
  for (const std::string text :
       {"", "a,", ",a", "a,,b", "a b", "u{1..}", "u{..2}", "u{2..1}", "u{1-2}", "u{1..2", "u1..2}",
        "u{a..b}", "u{1..2}{3..4}", "u{0..10000000}", "{-1..2}", "a{1..9999999},b{1..2}",
        "u{1..18446744073709551616}", "u}{..1"}) {
    EXPECT_FALSE(EntityNames::Parse(text)) << text;
  }
}

// Fails if: At uses lower_bound over the parts, or the size is increased after a part's first index
// is set.
RC_GTEST_PROP(EntityNamesProperty, EachIndexHasANameOfItsOwn, ()) {
  const auto widths = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 9));
  RC_PRE(!widths.empty());
  std::string text;
  Names expected;
  for (std::size_t part = 0; part < widths.size(); ++part) {
    text += (part == 0 ? "p" : ",p") + std::to_string(part) + "-{1.." +
            std::to_string(widths[part]) + "}";
    for (int i = 1; i <= widths[part]; ++i) {
      expected.push_back("p" + std::to_string(part) + "-" + std::to_string(i));
    }
  }
  RC_ASSERT(Expand(text) == expected);
}

}  // namespace
}  // namespace weir::app
