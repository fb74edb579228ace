#include "apps/weir/load/load_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "apps/weir/files.h"
#include "apps/weir/load/ack_log.h"
#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/sim/faulty_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

TEST(AckLog, AppendsALineForEachAnswer) {
  const TempFolder folder;
  const std::string path = folder / "acknowledged";
  const Amounts taken{{"rpm", 1}, {"tpm", Tokens::Milli(500'250)}};
  const Amounts returned{{"tpm", -20}};
  for (int run = 0; run < 2; ++run) {
    const auto log = AckLog::Open(path);
    ASSERT_TRUE(log);
    ASSERT_TRUE((*log)->Write({UnixMillis{17}, "take", "acme", "llm", taken}));
    ASSERT_TRUE((*log)->Write({UnixMillis{18}, "adjust", "acme", "llm", returned}));
  }
  const std::string lines = "17 take acme llm rpm=1 tpm=500.25\n18 adjust acme llm tpm=-20\n";
  EXPECT_EQ(*ReadFile(path), lines + lines);
}

TEST(AckLog, SaysWhichFileCannotBeWritten) {
  const auto log = AckLog::Open("/nowhere/at/all");
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("cannot write /nowhere/at/all: No such file"));
}

/// Runs a load that stops after a given number of requests.
class LoadTest : public testing::Test {
 protected:
  LoadOptions Options(const std::string& entities) {
    LoadOptions options;
    options.entities = *EntityNames::Parse(entities);
    options.resource = "llm";
    options.amounts = {{"rpm", 1}};
    options.limits = *ParseLimits("rpm:5");
    options.duration = std::chrono::hours(1);
    return options;
  }

  /// Runs until `enough` accepts the counts of the limiter.
  LoadReport Run(const LoadOptions& options, std::function<bool(const LimiterStats&)> enough) {
    Limiter limiter(*backend_, scheduler_);
    const ProcessContext process{.clock = scheduler_.clock(),
                                 .scheduler = scheduler_,
                                 .in = in_,
                                 .out = out_,
                                 .err = out_,
                                 .environment = {},
                                 .interrupted = [&] { return enough(limiter.stats()); }};
    Result<LoadReport> report = RunLoad(limiter, options, process);
    EXPECT_TRUE(report) << report.error().message;
    return *std::move(report);
  }

  std::istringstream in_;
  std::ostringstream out_;
  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> backend_ = MakeMemoryBackend({}, &scheduler_.clock());
};

TEST_F(LoadTest, CountsWhatWasAdmittedAndRefused) {
  const LoadReport report = Run(Options("acme"), [](const LimiterStats& stats) {
    return stats.admitted + stats.refused >= 20;
  });
  // The clock does not move, so no tokens are refilled.
  EXPECT_EQ(report.admitted, 5U);
  EXPECT_GE(report.refused, 15U);
  EXPECT_EQ(report.errors, 0U);
  EXPECT_TRUE(report.interrupted) << "Q5";
  EXPECT_EQ(report.latency.count(), report.admitted + report.refused);
}

// Fails if: the report shows an admission without a charge like one with a charge.
TEST_F(LoadTest, AdmissionsWithoutAChargeAreShownApart) {
  sim::FaultyBackend faulty(*backend_, scheduler_, 1);
  faulty.faults.down = true;
  Limiter limiter(faulty, scheduler_, {.on_unavailable = OnUnavailable::kAllow});
  const ProcessContext process{.clock = scheduler_.clock(),
                               .scheduler = scheduler_,
                               .in = in_,
                               .out = out_,
                               .err = out_,
                               .environment = {},
                               .interrupted = [&] { return limiter.stats().unprotected >= 3; }};
  const Result<LoadReport> report = RunLoad(limiter, Options("acme"), process);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GE(report->unprotected, 3U);
  EXPECT_EQ(report->unprotected, report->admitted);
  const std::string count = std::to_string(report->unprotected);
  EXPECT_THAT(TextOf(*report), HasSubstr("admitted " + count + " (" + count +
                                         " of them without a charge), refused 0"));
  EXPECT_EQ(ToJson(*report)["unprotected"], report->unprotected);
}

TEST_F(LoadTest, EachEntityHasABucketOfItsOwn) {
  LoadOptions options = Options("user-{1..10}");
  options.workers = 3;
  const LoadReport report =
      Run(options, [](const LimiterStats& stats) { return stats.admitted >= 50; });
  EXPECT_EQ(report.admitted, 50U);
}

TEST_F(LoadTest, AdjustsAreAcknowledgedAfterTheTakes) {
  const TempFolder folder;
  const std::string path = folder / "acknowledged";
  LoadOptions options = Options("acme");
  options.adjust = {{"rpm", Tokens(-1)}};
  options.acknowledged = path;
  const LoadReport report =
      Run(options, [](const LimiterStats& stats) { return stats.admitted >= 8; });
  EXPECT_EQ(report.refused, 0U) << "all is given back";
  EXPECT_THAT(*ReadFile(path), HasSubstr(" take acme llm rpm=1\n"));
  EXPECT_THAT(*ReadFile(path), HasSubstr(" adjust acme llm rpm=-1\n"));
}

TEST_F(LoadTest, ARequestThatCanNeverSucceedEndsTheRun) {
  LoadOptions options = Options("acme");
  options.amounts = {{"nosuch", 1}};
  const LoadReport report = Run(options, [](const LimiterStats&) { return false; });
  EXPECT_EQ(report.admitted, 0U);
  EXPECT_FALSE(report.interrupted);
  ASSERT_TRUE(report.first_error);
  EXPECT_THAT(report.first_error->message, HasSubstr("nosuch"));
}

TEST_F(LoadTest, ZipfFavoursTheFirst) {
  LoadOptions options = Options("user-{1..50}");
  options.limits = *ParseLimits("rpm:1000000");
  options.zipf = 2.0;
  const TempFolder folder;
  const std::string path = folder / "acknowledged";
  options.acknowledged = path;
  Run(options, [](const LimiterStats& stats) { return stats.admitted >= 1000; });
  const std::string text = *ReadFile(path);
  const auto count = [&](const std::string& name) {
    std::size_t found = 0;
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) ++found;
    return found;
  };
  EXPECT_GT(count(" user-1 "), 2 * count(" user-2 "));
}

TEST_F(LoadTest, TheReportReadsAsJson) {
  LoadReport report;
  report.admitted = 3;
  report.refused = 1;
  report.elapsed = std::chrono::seconds(2);
  report.limiter.store_acquires = 4;
  const nlohmann::ordered_json read = ToJson(report);
  EXPECT_EQ(
      read.dump(),
      R"({"admitted":3,"refused":1,"errors":0,"interrupted":false,"seconds":2,"decisions_per_s":2,"p50_us":0,)"
      R"("p99_us":0,"p999_us":0,"store_requests":{"acquire":4,"adjust":0,"config_read":0}})");
}

TEST_F(LoadTest, TheReportSaysWhatAllowancesSaved) {
  LoadOptions options = Options("acme");
  options.limits = *ParseLimits("rpm:100000/min~1sec");
  const LoadReport report = Run(
      options, [](const LimiterStats& stats) { return stats.admitted + stats.refused >= 5000; });
  EXPECT_LT(report.limiter.store_acquires, 50U);
  EXPECT_EQ(ToJson(report)["allowances"]["spent"], report.admitted);
  EXPECT_THAT(TextOf(report), HasSubstr("\nallowances      decisions "));
}

TEST_F(LoadTest, TheReportSaysHowFarTheFileWasBehind) {
  LoadReport report;
  report.file = EmbeddedStats{.commits = 7, .longest_gap = std::chrono::microseconds(12'345)};
  EXPECT_EQ(ToJson(report)["file"].dump(), R"({"commits":7,"longest_gap_ms":12.345})");
  EXPECT_THAT(TextOf(report),
              testing::EndsWith("file            commits 7, longest gap 12.345 ms\n"));
}

}  // namespace
}  // namespace weir::app
