#include "apps/weir/usage/usage_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::app {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr UnixMillis kNewYear{1'767'225'600'000};  // 2026-01-01T00:00:00Z
constexpr milliseconds kOneHour{3'600'000};
constexpr milliseconds kOneDay{24 * kOneHour};

UsageSnapshot RpmUsed(std::int64_t tokens, UnixMillis start, UsageWindow window) {
  return {.entity = "acme",
          .resource = "api",
          .window = window,
          .start = start,
          .used = {{"rpm", tokens}}};
}

std::size_t CountOfParts(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(UsagePlot, AColumnIsTheSumOfAWindow) {
  UsagePlot plot(UsageWindow::kHourly);
  ASSERT_TRUE(plot.Add(RpmUsed(3, kNewYear + 2 * kOneHour, UsageWindow::kHourly)));
  ASSERT_TRUE(plot.Add(RpmUsed(4, kNewYear, UsageWindow::kHourly)));
  ASSERT_TRUE(plot.Add(RpmUsed(8, kNewYear, UsageWindow::kHourly)));
  EXPECT_EQ(plot.ToJson(), (Json{{"window", "hourly"},
                                 {"limits",
                                  {{{"name", "rpm"},
                                    {"used",
                                     {{{"start", "2026-01-01T00:00:00.000Z"}, {"used", 12}},
                                      {{"start", "2026-01-01T02:00:00.000Z"}, {"used", 3}}}}}}}}));
  const std::string text = plot.Text();
  EXPECT_THAT(text, HasSubstr("rpm per hour, each column 1 hour\n          15 |\n"));
  EXPECT_EQ(CountOfParts(text, "|█"), 9U);  // 12 of 15
  EXPECT_THAT(text, HasSubstr("|█ ▃\n"));   // nothing at 01:00
  EXPECT_THAT(text, HasSubstr("2026-01-01T00:00:00.000Z to 2026-01-01T03:00:00.000Z\n"));
}

// Fails if: the last column is divided by windows that it does not have.
TEST(UsagePlot, ManyWindowsAreAveragedToFitATerminal) {
  UsagePlot plot(UsageWindow::kDaily);
  for (int day = 0; day < 81; ++day) {
    ASSERT_TRUE(plot.Add(RpmUsed(12, kNewYear + day * kOneDay, UsageWindow::kDaily)));
  }
  const std::string text = plot.Text();
  EXPECT_THAT(text, HasSubstr("rpm per day, each column 2 days\n"));
  EXPECT_THAT(text, HasSubstr("+" + std::string(41, '-') + "\n"));
  std::string full = "|";
  for (int column = 0; column < 41; ++column) full += "█";
  EXPECT_EQ(CountOfParts(text, full), 9U);  // 12 of 15, the last column too
}

TEST(UsagePlot, MonthsAreCountedByTheCalendar) {
  UsagePlot plot(UsageWindow::kMonthly);
  ASSERT_TRUE(plot.Add(RpmUsed(15, kNewYear + 31 * kOneDay, UsageWindow::kMonthly)));
  ASSERT_TRUE(plot.Add(RpmUsed(15, kNewYear - 31 * kOneDay, UsageWindow::kMonthly)));
  const std::string text = plot.Text();
  EXPECT_THAT(text, HasSubstr("|█ █\n"));
  EXPECT_THAT(text, HasSubstr("2025-12-01T00:00:00.000Z to 2026-03-01T00:00:00.000Z"));
}

TEST(UsagePlot, EachLimitHasAChartOfTheSameTime) {
  UsagePlot plot(UsageWindow::kHourly);
  UsageSnapshot tokens = RpmUsed(1, kNewYear, UsageWindow::kHourly);
  tokens.used = {{"tpm", 700}};
  ASSERT_TRUE(plot.Add(tokens));
  ASSERT_TRUE(plot.Add(RpmUsed(1, kNewYear + kOneHour, UsageWindow::kHourly)));
  EXPECT_THAT(plot.Text(), HasSubstr("rpm per hour"));
  EXPECT_THAT(plot.Text(), HasSubstr("| █\n"));
  EXPECT_THAT(plot.Text(), HasSubstr("tpm per hour"));
}

TEST(UsagePlot, WithoutSnapshotsThereIsNoChart) {
  EXPECT_EQ(UsagePlot(UsageWindow::kHourly).Text(), "no usage\n");
}

TEST(UsagePlot, TooManyWindowsAreRefused) {
  UsagePlot plot(UsageWindow::kHourly);
  for (std::size_t hour = 0; hour < UsagePlot::kMaxWindows; ++hour) {
    const UnixMillis start{static_cast<std::int64_t>(hour) * kOneHour.count()};
    ASSERT_TRUE(plot.Add(RpmUsed(1, start, UsageWindow::kHourly)));
  }
  EXPECT_TRUE(plot.Add(RpmUsed(1, {0}, UsageWindow::kHourly)));
  const Status refused = plot.Add(RpmUsed(1, kNewYear, UsageWindow::kHourly));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("--start"));
}

}  // namespace
}  // namespace weir::app
