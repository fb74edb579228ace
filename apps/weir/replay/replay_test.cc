#include "apps/weir/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "apps/weir/limits/limits_plan.h"
#include "apps/weir/replay/replay_report.h"
#include "apps/weir/testing/instants_fixture.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

class ReplayTest : public testing::Test {
 protected:
  void SetLimits(const std::string& yaml) {
    const auto file = ParseLimitsFile("namespace: default\n" + yaml, "f.yaml");
    ASSERT_TRUE(file) << file.error().message;
    const Plan plan = MakePlan(*file, Declared(), kStart);
    ASSERT_TRUE(ApplyPlan(plan, backend_->config(), Deadline::Never()));
  }

  Result<ReplayReport> Run(const std::vector<TraceRow>& rows) {
    TraceScheduler time(rows.front().at);
    return RunReplay(TraceFromTokenRows(rows, options_),
                     {*backend_, time, stopwatch_, [](std::size_t, std::size_t) {}});
  }

  /// Returns the log without its header and the columns that are always the same.
  std::string LogOf(const std::vector<TraceRow>& rows) {
    const Result<ReplayReport> report = Run(rows);
    if (!report) return report.error().message;
    std::string text;
    for (const LogLine& line : report->log) {
      std::string row = FormatLog({&line, 1});
      row = row.substr(row.find('\n') + 1);
      text += std::to_string((line.at - kStart).count()) + row.substr(row.find(','));
    }
    return text;
  }

  sim::SimClock stopwatch_;
  std::unique_ptr<Backend> backend_ = MakeMemoryBackend();
  ReplayOptions options_{.tenants = 1, .estimate = 10};
};

TraceRow Row(std::int64_t after, std::int64_t context, std::int64_t generated) {
  return {kStart + milliseconds(after), context, generated};
}

const char kPlain[] = "resources: {llm: {limits: {rpm: 10, tpm: 60}}}\n";

TEST_F(ReplayTest, TakesAnEstimateAndAdjustsItWhenTheTokensAreGenerated) {
  SetLimits(kPlain);
  EXPECT_EQ(LogOf({Row(0, 20, 25)}),
            "0,1,tenant-1,llm,take,admitted,rpm,1.000,9.000\n"
            "0,1,tenant-1,llm,take,admitted,tpm,30.000,30.000\n"
            "500,1,tenant-1,llm,adjust,done,rpm,0.000,9.083\n"
            "500,1,tenant-1,llm,adjust,done,tpm,15.000,15.500\n");
}

TEST_F(ReplayTest, GivesBackWhatWasNotGenerated) {
  SetLimits(kPlain);
  EXPECT_EQ(LogOf({Row(0, 20, 0)}),
            "0,1,tenant-1,llm,take,admitted,rpm,1.000,9.000\n"
            "0,1,tenant-1,llm,take,admitted,tpm,30.000,30.000\n"
            "0,1,tenant-1,llm,adjust,done,rpm,0.000,9.000\n"
            "0,1,tenant-1,llm,adjust,done,tpm,-10.000,40.000\n");
}

TEST_F(ReplayTest, AnExactEstimateNeedsNoAdjust) {
  SetLimits(kPlain);
  EXPECT_EQ(LogOf({Row(0, 20, 10)}),
            "0,1,tenant-1,llm,take,admitted,rpm,1.000,9.000\n"
            "0,1,tenant-1,llm,take,admitted,tpm,30.000,30.000\n");
}

TEST_F(ReplayTest, TheActualStrategyTakesAllAtOnce) {
  SetLimits(kPlain);
  options_.strategy = Strategy::kActual;
  EXPECT_EQ(LogOf({Row(0, 20, 25)}),
            "0,1,tenant-1,llm,take,admitted,rpm,1.000,9.000\n"
            "0,1,tenant-1,llm,take,admitted,tpm,45.000,15.000\n");
}

TEST_F(ReplayTest, ARefusalChargesNothing) {
  SetLimits(kPlain);
  EXPECT_EQ(LogOf({Row(0, 40, 10), Row(500, 20, 10)}),
            "0,1,tenant-1,llm,take,admitted,rpm,1.000,9.000\n"
            "0,1,tenant-1,llm,take,admitted,tpm,50.000,10.000\n"
            "500,2,tenant-1,llm,take,refused,rpm,1.000,9.083\n"
            "500,2,tenant-1,llm,take,refused,tpm,30.000,10.500\n");
}

TEST_F(ReplayTest, AnAdjustComesBeforeALaterRowOfTheSameInstant) {
  SetLimits(kPlain);
  const std::string log = LogOf({Row(0, 40, 5), Row(100, 5, 10)});
  EXPECT_THAT(log, HasSubstr("100,1,tenant-1,llm,adjust,done,tpm,-5.000,15.100\n"
                             "100,2,tenant-1,llm,take,admitted,rpm"));
}

TEST_F(ReplayTest, WhatCanNeverBeAdmittedIsCountedAndTheRunGoesOn) {
  SetLimits(kPlain);
  const Result<ReplayReport> report = Run({Row(0, 51, 10), Row(1, 5, 10)});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->tenants[0].impossible, 1U);
  EXPECT_EQ(report->tenants[0].admitted, 1U);
  EXPECT_EQ(report->tenants[0].asked, 2U);
  EXPECT_EQ(report->log[1].outcome, LogOutcome::kImpossible);
  EXPECT_EQ(report->log[1].amount, 61'000);
  EXPECT_EQ(report->log[1].balance, 60'000);
}

TEST_F(ReplayTest, AnImpossibleRequestIsLoggedWithTheBalanceOfItsInstant) {
  SetLimits(kPlain);
  EXPECT_THAT(LogOf({Row(0, 40, 10), Row(500, 51, 10)}),
              HasSubstr("500,2,tenant-1,llm,take,impossible,rpm,1.000,9.083\n"
                        "500,2,tenant-1,llm,take,impossible,tpm,61.000,10.500\n"));
}

TEST_F(ReplayTest, DebtIsSeenAtItsDeepest) {
  SetLimits(kPlain);
  const Result<ReplayReport> report = Run({Row(0, 50, 200), Row(1'000'000, 1, 10)});
  ASSERT_TRUE(report) << report.error().message;
  // 60 - 60, 4 s of refill, and 190 more than estimated.
  EXPECT_EQ(report->tenants[0].deepest_debt, 186'000);
  EXPECT_EQ(report->tenants[0].tokens, 261'000);
}

const char kTree[] =
    "resources: {llm: {limits: {rpm: 10, tpm: 60}}}\n"
    "entities:\n"
    "  org: {resources: {llm: {limits: {tpm: 40}}}}\n"
    "  tenant-1: {parent: org, cascade: true}\n";

TEST_F(ReplayTest, AParentIsChargedToo) {
  SetLimits(kTree);
  EXPECT_EQ(LogOf({Row(0, 20, 15)}),
            "0,1,tenant-1,llm,take,admitted,rpm,1.000,9.000\n"
            "0,1,tenant-1,llm,take,admitted,tpm,30.000,30.000\n"
            "0,1,org,llm,take,admitted,tpm,30.000,10.000\n"
            "300,1,tenant-1,llm,adjust,done,rpm,0.000,9.050\n"
            "300,1,tenant-1,llm,adjust,done,tpm,5.000,25.300\n"
            "300,1,org,llm,adjust,done,tpm,5.000,5.200\n");
}

TEST_F(ReplayTest, ARefusalNamesTheLimitThatWasShort) {
  SetLimits(kTree);
  const Result<ReplayReport> report =
      Run({Row(0, 30, 10), Row(0, 15, 10), Row(60'000, 5, 10), Row(60'000, 45, 10)});
  ASSERT_TRUE(report) << report.error().message;
  const TenantTally& tally = report->tenants[0];
  EXPECT_EQ(tally.admitted, 2U);
  EXPECT_EQ(tally.refused, 1U);
  EXPECT_EQ(tally.impossible, 1U) << "55 tokens are over the capacity of org";
  EXPECT_EQ(tally.refused_by.own.at("tpm"), 1U);
  EXPECT_EQ(tally.refused_by.above.at("tpm"), 1U);
  EXPECT_FALSE(tally.refused_by.own.contains("rpm"));
  EXPECT_EQ(report->above.at("org").tokens, 55'000);
  EXPECT_EQ(report->root_refill_per_minute, 40'000);
}

TEST_F(ReplayTest, TheLimitOnRequestsCountsAsSuch) {
  SetLimits("resources: {llm: {limits: {rpm: 1, tpm: 60}}}\n");
  const Result<ReplayReport> report = Run({Row(0, 1, 10), Row(0, 1, 10)});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->tenants[0].refused_by.own.at("rpm"), 1U);
}

std::vector<TraceRow> ManyRows() {
  std::vector<TraceRow> rows;
  for (int i = 0; i < 3000; ++i) rows.push_back(Row(i * 37, 1 + i * 7 % 30, i * 13 % 40));
  return rows;
}

TEST_F(ReplayTest, ASeedGivesTheSameLogAgain) {
  SetLimits(kPlain);
  options_.tenants = 5;
  const std::string first = FormatLog(Run(ManyRows())->log);
  backend_ = MakeMemoryBackend();
  SetLimits(kPlain);
  EXPECT_EQ(FormatLog(Run(ManyRows())->log), first);
  options_.seed = 2;
  backend_ = MakeMemoryBackend();
  SetLimits(kPlain);
  EXPECT_NE(FormatLog(Run(ManyRows())->log), first);
}

TEST_F(ReplayTest, LowerNumbersAskMore) {
  SetLimits(kPlain);
  options_.tenants = 5;
  const Result<ReplayReport> report = Run(ManyRows());
  ASSERT_TRUE(report) << report.error().message;
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_GT(report->tenants[i - 1].asked, report->tenants[i].asked);
  }
  EXPECT_EQ(report->latency.count(), 3000U);
}

TEST_F(ReplayTest, TellsHowFarItIs) {
  SetLimits(kPlain);
  std::vector<std::size_t> told;
  const std::vector<TraceRow> rows = ManyRows();
  TraceScheduler time(rows.front().at);
  const auto progress = [&](std::size_t done, std::size_t of) {
    EXPECT_EQ(of, rows.size());
    told.push_back(done);
  };
  ASSERT_TRUE(
      RunReplay(TraceFromTokenRows(rows, options_), {*backend_, time, stopwatch_, progress}));
  EXPECT_EQ(told, (std::vector<std::size_t>{1024, 2048, 3000}));
}

TEST_F(ReplayTest, TheBoundHoldsAndAForgedLogBreaksIt) {
  SetLimits(kTree);
  options_.tenants = 3;
  Result<ReplayReport> report = Run(ManyRows());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(FindViolation(report->log, report->limits).has_value());
  for (LogLine& line : report->log) {
    if (line.outcome == LogOutcome::kRefused) line.outcome = LogOutcome::kAdmitted;
  }
  EXPECT_TRUE(FindViolation(report->log, report->limits).has_value());
}

TEST_F(ReplayTest, AUsedStoreIsRefusedWithAdvice) {
  SetLimits(kPlain);
  ASSERT_TRUE(Run({Row(0, 1, 10)}));
  const Result<ReplayReport> again = Run({Row(0, 1, 10)});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(again.error().message, HasSubstr("tenant-1 has a bucket on llm"));
  EXPECT_THAT(again.error().message, HasSubstr("--store memory:"));
}

TEST_F(ReplayTest, TenantsWithoutTheLimitsAreRefused) {
  SetLimits("resources: {llm: {limits: {rpm: 10}}}\n");
  const Result<ReplayReport> report = Run({Row(0, 1, 10)});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("tenant-1 has no limit tpm on llm"));
}

TEST_F(ReplayTest, TheReportHasATableAndAVerdict) {
  SetLimits(kTree);
  Result<ReplayReport> report = Run({Row(0, 20, 15), Row(0, 30, 10), Row(1, 90, 10)});
  ASSERT_TRUE(report) << report.error().message;
  const ReplayResult result{*std::move(report), std::nullopt};
  EXPECT_EQ(TextOf(result),
            "tenant    asked  admitted  refused  by rpm  by "
            "tpm  parent rpm  parent tpm  impossible  "
            "tokens  debt\n"
            "tenant-1      3         1        1       0       "
            "1           0           1           1      "
            "35     0\n"
            "all           3         1        1       0       "
            "1           0           1           1      "
            "35     0\n"
            "\n"
            "parent  tokens  debt\n"
            "org         35     0\n"
            "\n"
            "decision: p50 0 us, p99 0 us\n"
            "bound: held\n");
}

}  // namespace
}  // namespace weir::app
