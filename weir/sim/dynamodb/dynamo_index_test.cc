#include "weir/sim/dynamodb/dynamo_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace weir::sim {
namespace {

using std::chrono::seconds;
using Projection = IndexSpec::Projection;

constexpr Instant kStart{86'400'000'000'007};

Value Text(std::string text) { return Value(std::move(text)); }

ItemKey KeyOf(const std::string& name) { return {std::string("p"), name}; }

/// Returns an item of the table (p, name) that the index stores under `group`.
Item ItemAt(const std::string& name, const std::string& group, std::size_t extra_bytes = 0) {
  Item item = {{"PK", Text("p")}, {"SK", Text(name)}, {"group", Text(group)}};
  if (extra_bytes > 0) item.emplace("extra", Text(std::string(extra_bytes, 'x')));
  return item;
}

DynamoIndex MakeIndex(Projection projection, std::vector<std::string> included = {}) {
  IndexSpec spec{.name = "by_group", .key = {"group", ""}, .projection = projection};
  spec.included = std::move(included);
  return DynamoIndex(std::move(spec), {"PK", "SK"});
}

std::vector<std::string> Groups(const Entries& entries) {
  std::vector<std::string> groups;
  for (const auto& [position, item] : entries) {
    groups.push_back(*item.at("group").As<std::string>());
  }
  return groups;
}

TEST(WriteUnits, AreBegunKilobytes) {
  EXPECT_EQ(WriteUnits(0), 1);
  EXPECT_EQ(WriteUnits(1024), 1);
  EXPECT_EQ(WriteUnits(1025), 2);
}

TEST(DynamoIndex, ProjectsWhatItsSpecSays) {
  Item item = ItemAt("a", "g", 5);
  item.emplace("wanted", Text("w"));
  const auto shown = [&item](DynamoIndex index) {
    index.Write(KeyOf("a"), {nullptr, &item}, kStart, {});
    return index.EntriesAt(kStart).begin()->second;
  };
  EXPECT_EQ(shown(MakeIndex(Projection::kAll)), item);
  EXPECT_EQ(shown(MakeIndex(Projection::kKeysOnly)), ItemAt("a", "g"));
  Item expected = ItemAt("a", "g");
  expected.emplace("wanted", Text("w"));
  EXPECT_EQ(shown(MakeIndex(Projection::kInclude, {"wanted", "absent"})), expected);
}

TEST(DynamoIndex, CostsWhatItsEntriesChange) {
  DynamoIndex index = MakeIndex(Projection::kAll);
  const Item small = ItemAt("a", "g");
  const Item large = ItemAt("a", "g", 3000);
  const Item moved = ItemAt("a", "h", 3000);
  const Item outside = {{"PK", Text("p")}, {"SK", Text("a")}};
  const auto cost = [&index](const Item* before, const Item* after) {
    return index.Write(KeyOf("a"), {before, after}, kStart, {});
  };
  EXPECT_EQ(cost(nullptr, &outside), 0);
  EXPECT_EQ(cost(&outside, &small), 1);
  EXPECT_EQ(cost(&small, &small), 0);
  EXPECT_EQ(cost(&small, &large), 3);
  EXPECT_EQ(cost(&large, &moved), 6) << "out of one place and into another";
  EXPECT_EQ(cost(&moved, nullptr), 3);
  EXPECT_TRUE(index.EntriesAt(kStart).empty());
}

TEST(DynamoIndex, OfKeysAloneIsFreeOfOtherChanges) {
  DynamoIndex index = MakeIndex(Projection::kKeysOnly);
  const Item before = ItemAt("a", "g");
  const Item after = ItemAt("a", "g", 5000);
  EXPECT_EQ(index.Write(KeyOf("a"), {nullptr, &before}, kStart, {}), 1);
  EXPECT_EQ(index.Write(KeyOf("a"), {&before, &after}, kStart, {}), 0);
}

TEST(DynamoIndex, ShowsAChangeFromItsInstantOn) {
  DynamoIndex index = MakeIndex(Projection::kAll);
  const Item item = ItemAt("a", "g");
  index.Write(KeyOf("a"), {nullptr, &item}, kStart, seconds(2));
  EXPECT_TRUE(index.EntriesAt(kStart + seconds(2) - nanoseconds(1)).empty());
  EXPECT_EQ(index.EntriesAt(kStart + seconds(2)).size(), 1U);
}

TEST(DynamoIndex, ALaterChangeOfAnItemNeverOvertakesAnEarlierOne) {
  DynamoIndex index = MakeIndex(Projection::kAll);
  const Item first = ItemAt("a", "g");
  const Item second = ItemAt("a", "h");
  const Item other = ItemAt("b", "i");
  index.Write(KeyOf("a"), {nullptr, &first}, kStart, seconds(5));
  index.Write(KeyOf("a"), {&first, &second}, kStart, seconds(1));
  index.Write(KeyOf("b"), {nullptr, &other}, kStart, seconds(1));
  EXPECT_THAT(Groups(index.EntriesAt(kStart + seconds(1))), testing::ElementsAre("i"))
      << "one of another item may";
  EXPECT_THAT(Groups(index.EntriesAt(kStart + seconds(5))), testing::ElementsAre("h", "i"));
}

TEST(DynamoIndex, ALocalOneIsNeverLate) {
  DynamoIndex index({.name = "local", .key = {"PK", "group"}, .local = true}, {"PK", "SK"});
  const Item item = ItemAt("a", "g");
  index.Write(KeyOf("a"), {nullptr, &item}, kStart, seconds(9));
  EXPECT_EQ(index.EntriesAt(kStart).size(), 1U);
}

// Fails if: the entry of an old image remains, or a change is lost while other changes are pending.
RC_GTEST_PROP(DynamoIndexProperty, OnceAllIsVisibleTheEntriesAreThoseOfTheItems, ()) {
  DynamoIndex index = MakeIndex(Projection::kAll);
  std::map<std::string, Item> items;
  Instant now = kStart;
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const std::string name(1, static_cast<char>('a' + *rc::gen::inRange(0, 4)));
    const std::string group(1, static_cast<char>('f' + *rc::gen::inRange(0, 3)));
    const auto there = items.find(name);
    std::optional<Item> before;
    if (there != items.end()) before = there->second;
    std::optional<Item> after;
    if (*rc::gen::inRange(0, 4) > 0) after = ItemAt(name, group);
    index.Write(KeyOf(name), {before ? &*before : nullptr, after ? &*after : nullptr}, now,
                milliseconds(*rc::gen::inRange(0, 50)));
    items.erase(name);
    if (after) items.emplace(name, *after);
    now = now + milliseconds(*rc::gen::inRange(0, 20));
    if (*rc::gen::inRange(0, 3) == 0) index.EntriesAt(now);
  }
  Entries expected;
  for (const auto& [name, item] : items) {
    expected.emplace(Position{*KeyIn(item, {"group", ""}), KeyOf(name)}, item);
  }
  RC_ASSERT(index.EntriesAt(now + milliseconds(50)) == expected);
}

}  // namespace
}  // namespace weir::sim
