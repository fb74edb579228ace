#include "weir/sim/dynamodb/expression/dynamo_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::sim {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Item SomeItem() {
  return ReadItem(json::parse(R"({
      "a": {"N":"1"}, "m": {"M":{"k":{"S":"x"},"l":{"L":[{"N":"0"},{"M":{"q":{"N":"4"}}}]}}}})"))
      .value();
}

Path At(std::vector<Path::Step> steps) { return Path{std::move(steps)}; }

TEST(Path, LeadsThroughMapsAndLists) {
  const Item item = SomeItem();
  EXPECT_EQ(*Find(item, At({"a"})), Value(Decimal(1)));
  EXPECT_EQ(*Find(item, At({"m", "k"})), Value(std::string("x")));
  EXPECT_EQ(*Find(item, At({"m", "l", 1U, "q"})), Value(Decimal(4)));
}

TEST(Path, LeadsNowhereWhereTypesDoNotFit) {
  const Item item = SomeItem();
  EXPECT_EQ(Find(item, At({"absent"})), nullptr);
  EXPECT_EQ(Find(item, At({"a", "k"})), nullptr);
  EXPECT_EQ(Find(item, At({"m", 0U})), nullptr);
  EXPECT_EQ(Find(item, At({"m", "l", "q"})), nullptr);
  EXPECT_EQ(Find(item, At({"m", "l", 2U})), nullptr);
  EXPECT_EQ(Find(item, At({"absent", "k", 0U})), nullptr);
}

TEST(Path, PutsAndRemovesWhatTheRestOfTheItemDoesNotNotice) {
  Item item = SomeItem();
  ASSERT_TRUE(Put(item, At({"m", "l", 1U, "q"}), Value(true)).has_value());
  ASSERT_TRUE(Put(item, At({"m", "fresh"}), Value(true)).has_value());
  ASSERT_TRUE(Remove(item, At({"m", "k"})).has_value());
  ASSERT_TRUE(Remove(item, At({"m", "l", 0U})).has_value());
  EXPECT_EQ(WriteItem(item), json::parse(R"({"a":{"N":"1"},"m":{"M":{
      "fresh":{"BOOL":true},"l":{"L":[{"M":{"q":{"BOOL":true}}}]}}}})"));
}

TEST(Path, APutBehindTheEndOfAListAppends) {
  Item item = SomeItem();
  ASSERT_TRUE(Put(item, At({"m", "l", 77U}), Value(false)).has_value());
  EXPECT_EQ(*Find(item, At({"m", "l", 2U})), Value(false));
}

TEST(Path, RefusesToPutIntoWhatIsNotThereAndChangesNothing) {
  for (const Path& path : {At({"absent", "k"}), At({"a", "k"}), At({"m", 0U}), At({"m", "l", "k"}),
                           At({"m", "l", 5U, "q"})}) {
    Item item = SomeItem();
    EXPECT_THAT(Put(item, path, Value(true)).error().message, HasSubstr("invalid for update"));
    EXPECT_THAT(Remove(item, path).error().message, HasSubstr("invalid for update"));
    EXPECT_EQ(item, SomeItem()) << ToString(path);
  }
}

TEST(Path, IsShownAsAwsShowsIt) {
  EXPECT_EQ(ToString(At({"a"})), "[a]");
  EXPECT_EQ(ToString(At({"m", "l", 1U, "q"})), "[m, l, [1], q]");
}

TEST(Path, KnowsWhatOverlapsAndWhatConflicts) {
  EXPECT_TRUE(CheckApart(At({"a"}), At({"b"})).has_value());
  EXPECT_TRUE(CheckApart(At({"a", "x"}), At({"a", "y"})).has_value());
  EXPECT_TRUE(CheckApart(At({"a", 0U}), At({"a", 1U})).has_value());
  EXPECT_TRUE(CheckApart(At({"a", "x", "q"}), At({"a", "y"})).has_value());
  EXPECT_THAT(CheckApart(At({"a"}), At({"a"})).error().message, HasSubstr("overlap"));
  EXPECT_THAT(CheckApart(At({"a", 0U}), At({"a"})).error().message, HasSubstr("overlap"));
  EXPECT_THAT(CheckApart(At({"a", 0U}), At({"a", "x"})).error().message, HasSubstr("conflict"));
}

}  // namespace
}  // namespace weir::sim
