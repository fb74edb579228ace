#include "weir/store/config/usage_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace weir {
namespace {

constexpr std::int64_t kMillisOfHour = 3'600'000;
// An hour that begins neither a day nor a month.
constexpr UnixMillis kHour{490'897 * kMillisOfHour};

void AddHour(UsageTable& table, const std::string& entity, UnixMillis hour,
             std::int64_t millitokens = 1'000) {
  const HourOfUse use{.start = hour, .limits = {{.limit = "rpm", .used = millitokens}}};
  table.AddHours({entity, "gpt-4", 0}, {&use, 1}, hour);
}

std::size_t CountOf(const UsageTable& table, const std::string& entity, UsageWindow window) {
  const UsageFilter filter{
      .entity = entity, .resource = {}, .window = window, .from = {}, .until = {}};
  const auto page = table.List(filter, {.cursor = {}, .limit = 100});
  return page ? page->items.size() : 0;
}

// Fails if: the newest of the snapshots with one start leaves first, so that a full table never
// shows a new name.
TEST(UsageTable, EvictsTheSnapshotThatWasAddedFirstOfThoseThatEndFirst) {
  UsageTable table({.max_snapshots = 8});
  for (const std::string entity : {"acme", "bell", "cern"}) AddHour(table, entity, kHour);
  EXPECT_EQ(CountOf(table, "acme", UsageWindow::kHourly), 0U);
  EXPECT_EQ(CountOf(table, "bell", UsageWindow::kHourly), 1U);
  EXPECT_EQ(CountOf(table, "cern", UsageWindow::kHourly), 1U);
  EXPECT_EQ(CountOf(table, "acme", UsageWindow::kDaily), 1U);
  EXPECT_EQ(table.stats().kept, 8U);
  EXPECT_EQ(table.stats().evicted, 1U);
}

TEST(UsageTable, EvictsAnEarlierHourBeforeALaterOne) {
  UsageTable table({.max_snapshots = 5});
  AddHour(table, "acme", kHour + milliseconds(kMillisOfHour));
  AddHour(table, "bell", kHour);
  EXPECT_EQ(CountOf(table, "acme", UsageWindow::kHourly), 1U);
  EXPECT_EQ(CountOf(table, "bell", UsageWindow::kHourly), 0U);
}

// Fails if: the parts of a token are forgotten, or outlive the month whose snapshot was evicted.
TEST(UsageTable, PartsOfATokenAreKeptAsLongAsTheirMonth) {
  UsageTable table({.max_snapshots = 3});
  AddHour(table, "acme", kHour, 1'600);
  AddHour(table, "acme", kHour, 600);
  const UsageFilter month{
      .entity = "acme", .resource = {}, .window = UsageWindow::kMonthly, .from = {}, .until = {}};
  EXPECT_EQ(table.List(month, {.cursor = {}, .limit = 9})->items.at(0).used.at("rpm"), 2);
  for (const std::string entity : {"bell", "cern", "dell"}) AddHour(table, entity, kHour);
  ASSERT_EQ(CountOf(table, "acme", UsageWindow::kMonthly), 0U);
  AddHour(table, "acme", kHour, 900);
  const auto listed = table.List(month, {.cursor = {}, .limit = 9});
  EXPECT_FALSE(listed->items.at(0).used.contains("rpm")) << "0.9 tokens are none";
}

}  // namespace
}  // namespace weir
