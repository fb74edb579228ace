#include "weir/model/usage.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr UnixMillis kNewYear{1'767'225'600'000};  // 2026-01-01T00:00:00Z
constexpr milliseconds kDay{86'400'000};

UsageSnapshot Used(std::int64_t tokens, UnixMillis start) {
  return {.entity = "acme", .resource = "api", .start = start, .used = {{"rpm", tokens}}};
}

TEST(Usage, WindowsHaveNames) {
  EXPECT_EQ(UsageWindowNamed("hourly"), UsageWindow::kHourly);
  EXPECT_EQ(UsageWindowNamed("daily"), UsageWindow::kDaily);
  EXPECT_EQ(UsageWindowNamed("monthly"), UsageWindow::kMonthly);
  EXPECT_EQ(UsageWindowNamed("weekly"), std::nullopt);
}

TEST(Usage, WindowsAreParsedFromAList) {
  const auto windows = ParseUsageWindows("hourly,monthly");
  ASSERT_TRUE(windows);
  EXPECT_EQ(*windows, (std::vector{UsageWindow::kHourly, UsageWindow::kMonthly}));
  for (const char* text : {"", "hourly,", "hourly, daily", "weekly"}) {
    const auto wrong = ParseUsageWindows(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_EQ(wrong.error().code, Code::kInvalidArgument) << text;
  }
}

TEST(Usage, AMonthEndsWithTheMonth) {
  EXPECT_EQ(EndOf(UsageWindow::kHourly, kNewYear), kNewYear + milliseconds(3'600'000));
  EXPECT_EQ(EndOf(UsageWindow::kDaily, kNewYear), kNewYear + kDay);
  EXPECT_EQ(EndOf(UsageWindow::kMonthly, kNewYear), kNewYear + 31 * kDay);
  EXPECT_EQ(EndOf(UsageWindow::kMonthly, kNewYear - 31 * kDay), kNewYear);
}

TEST(Usage, AWindowBeginsWithItsHourDayOrMonth) {
  const UnixMillis at = kNewYear + 40 * kDay + milliseconds(3'600'000 * 5 + 1);  // February 10
  EXPECT_EQ(StartOf(UsageWindow::kHourly, at), at - milliseconds(1));
  EXPECT_EQ(StartOf(UsageWindow::kDaily, at), kNewYear + 40 * kDay);
  EXPECT_EQ(StartOf(UsageWindow::kMonthly, at), kNewYear + 31 * kDay);
  EXPECT_EQ(StartOf(UsageWindow::kMonthly, kNewYear - milliseconds(1)), kNewYear - 31 * kDay);
}

TEST(Usage, AMixedSnapshotMatchesTheWindowsThatBeginAtItsStart) {
  UsageSnapshot snapshot = Used(1, kNewYear + kDay);
  snapshot.mixed = true;
  EXPECT_TRUE(Matches({.window = UsageWindow::kHourly}, snapshot));
  EXPECT_TRUE(Matches({.window = UsageWindow::kDaily}, snapshot));
  EXPECT_FALSE(Matches({.window = UsageWindow::kMonthly}, snapshot));
  snapshot.start = kNewYear;
  EXPECT_TRUE(Matches({.window = UsageWindow::kMonthly}, snapshot));
}

TEST(Usage, AFilterHoldsInAllThatIsGiven) {
  const UsageSnapshot snapshot = Used(1, kNewYear);
  EXPECT_TRUE(Matches({}, snapshot));
  EXPECT_TRUE(Matches({.entity = "acme",
                       .resource = "api",
                       .window = UsageWindow::kHourly,
                       .from = kNewYear,
                       .until = kNewYear},
                      snapshot));
  EXPECT_FALSE(Matches({.entity = "bolt"}, snapshot));
  EXPECT_FALSE(Matches({.resource = "web"}, snapshot));
  EXPECT_FALSE(Matches({.window = UsageWindow::kDaily}, snapshot));
  EXPECT_FALSE(Matches({.from = kNewYear + milliseconds(1)}, snapshot));
  EXPECT_FALSE(Matches({.until = kNewYear - milliseconds(1)}, snapshot));
}

TEST(Usage, ASummaryAddsUpEachLimit) {
  UsageSnapshot both = Used(5, kNewYear + kDay);
  both.used["tpm"] = 700;
  const UsageSummary summary = Summarize(std::vector{Used(2, kNewYear), both});
  EXPECT_EQ(summary.snapshots, 2);
  EXPECT_EQ(summary.limits.at("rpm"), (UsageSummary::Limit{7, 2}));
  EXPECT_EQ(summary.limits.at("tpm"), (UsageSummary::Limit{700, 1}));
  EXPECT_EQ(summary.first, kNewYear);
  EXPECT_EQ(summary.last, kNewYear + kDay);
  EXPECT_EQ(Summarize({}).first, std::nullopt);
}

// Fails if: the sum wraps around.
TEST(Usage, ASumThatIsTooLargeStaysAtTheLargestNumber) {
  UsageSummary summary;
  for (const std::int64_t used : {INT64_MAX, std::int64_t{5}}) Add(summary, Used(used, kNewYear));
  EXPECT_EQ(summary.limits.at("rpm").used, INT64_MAX);
  for (const std::int64_t used : {INT64_MIN, INT64_MIN}) Add(summary, Used(used, kNewYear));
  EXPECT_EQ(summary.limits.at("rpm").used, INT64_MIN);
}

}  // namespace
}  // namespace weir
