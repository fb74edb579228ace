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

TEST(Usage, AMonthEndsWithTheMonth) {
  EXPECT_EQ(EndOf(UsageWindow::kHourly, kNewYear), kNewYear + milliseconds(3'600'000));
  EXPECT_EQ(EndOf(UsageWindow::kDaily, kNewYear), kNewYear + kDay);
  EXPECT_EQ(EndOf(UsageWindow::kMonthly, kNewYear), kNewYear + 31 * kDay);
  EXPECT_EQ(EndOf(UsageWindow::kMonthly, kNewYear - 31 * kDay), kNewYear);
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

}  // namespace
}  // namespace weir
