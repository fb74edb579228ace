// weir usage on a backend in memory that has usage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/weir/testing/process_context_fixture.h"
#include "weir/runtime/await.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr UnixMillis kMidnight{1'767'225'600'000};  // 2026-01-01T00:00:00Z
constexpr milliseconds kHour{3'600'000};

class UsageVerbTest : public WorldTest {
 protected:
  UsageVerbTest() : WorldTest({{"WEIR_STORE", "memory:"}}) {
    process_.open_backend = [this](const std::string&) -> Result<std::unique_ptr<Backend>> {
      auto backend = MakeMemoryBackend({}, &scheduler_.clock());
      for (const UsageSnapshot& used : usage_) {
        WEIR_RETURN_IF_ERROR(Await<void>(
            [&](auto done) { backend->usage().Add(used, Deadline::Never(), std::move(done)); }));
      }
      return backend;
    };
  }

  /// Adds use of `rpm` in an hour after midnight.
  void UseRpm(const std::string& entity, const std::string& resource, int hour,
              std::int64_t tokens) {
    usage_.push_back({.entity = entity,
                      .resource = resource,
                      .window = UsageWindow::kHourly,
                      .start = kMidnight + hour * kHour,
                      .used = {{"rpm", tokens}},
                      .overdrawn = {},
                      .events = 1});
  }
  std::string RunText(const std::vector<std::string>& args) {
    EXPECT_EQ(RunArgs(args), Exit::kDone) << err_.str();
    EXPECT_EQ(err_.str(), "");
    return out_.str();
  }
  json RunJson(std::vector<std::string> args) {
    args.emplace_back("--json");
    return json::parse(RunText(args));
  }
  void ExpectUsageError(const std::vector<std::string>& args, const std::string& part) {
    EXPECT_EQ(RunArgs(args), Exit::kUsage) << args.back();
    EXPECT_EQ(out_.str(), "");
    EXPECT_THAT(err_.str(), HasSubstr(part));
  }

  std::vector<UsageSnapshot> usage_;
};

// Fails if: the totals of an entity are those of one resource, or of one page.
TEST_F(UsageVerbTest, ASummaryOfAnEntityHasItsResourcesAndTheirSum) {
  for (int hour = 0; hour < 1100; ++hour) UseRpm("acme", "api", hour, 2);
  UseRpm("acme", "web", 0, 5);
  UseRpm("bolt", "api", 0, 100);
  EXPECT_EQ(RunText({"usage", "summary", "-e", "acme"}),
            "1101 snapshots, hourly, that begin 2026-01-01T00:00:00.000Z to "
            "2026-02-15T19:00:00.000Z\n"
            "resource  limit  used  on average\n"
            "api       rpm    2200         2.0\n"
            "web       rpm       5         5.0\n"
            "(all)     rpm    2205         2.0\n");
  const json summary = RunJson({"usage", "summary", "-e", "acme"});
  EXPECT_EQ(summary.at("limits"), json::parse(R"([{"name":"rpm","used":2205,"snapshots":1101}])"));
  EXPECT_EQ(summary.at("resources").at(1).at("resource"), "web");
  EXPECT_EQ(summary.at("resources").at(1).at("limits").at(0).at("used"), 5);
}

TEST_F(UsageVerbTest, ASummaryOfOneResourceHasNoOthers) {
  UseRpm("acme", "api", 0, 2);
  UseRpm("acme", "web", 0, 5);
  EXPECT_FALSE(RunJson({"usage", "summary", "-e", "acme", "-r", "api"}).contains("resources"));
  EXPECT_THAT(RunText({"usage", "summary", "-e", "acme", "-r", "api"}),
              HasSubstr("limit  used  on average\nrpm       2         2.0\n"));
}

// Fails if: other windows are ranked, or only the first page is.
TEST_F(UsageVerbTest, TopRanksTheEntitiesOfAResourceInOneWindow) {
  for (int i = 0; i < 1100; ++i) UseRpm("e" + std::to_string(i), "api", 1, i);
  UseRpm("e0", "api", 0, 9999);
  UseRpm("e0", "web", 1, 9999);
  const std::vector<std::string> args{
      "usage", "top", "rpm", "-r", "api", "--count", "2", "--at", "2026-01-01T01:59:59Z"};
  EXPECT_EQ(RunText(args),
            "rpm, hourly from 2026-01-01T01:00:00.000Z: 604450 by 1100 pairs\n"
            "entity  resource  used\n"
            "e1099   api       1099\n"
            "e1098   api       1098\n");
  EXPECT_EQ(RunJson(args)["top"][1],
            (json{{"entity", "e1098"}, {"resource", "api"}, {"used", 1098}}));
}

TEST_F(UsageVerbTest, TopIsOfThePresentWindowUnlessATimeIsGiven) {
  const UnixMillis now = scheduler_.clock().WallNow();
  usage_ = {{.entity = "acme",
             .resource = "api",
             .window = UsageWindow::kMonthly,
             .start = StartOf(UsageWindow::kMonthly, now),
             .used = {{"rpm", 7}},
             .overdrawn = {},
             .events = 1}};
  EXPECT_EQ(RunJson({"usage", "top", "rpm", "-e", "acme", "-w", "monthly"})["used"], 7);
  EXPECT_EQ(RunJson({"usage", "top", "rpm", "-e", "acme"})["used"], 0);
}

TEST_F(UsageVerbTest, ThePlotIsOfAllPages) {
  for (int i = 0; i < 1100; ++i) UseRpm("e" + std::to_string(i), "api", i % 2, 1);
  EXPECT_THAT(RunText({"usage", "list", "-r", "api", "--plot"}),
              HasSubstr("rpm per hour, each column 1 hour\n         600 |\n"));
  EXPECT_EQ(RunJson({"usage", "list", "-r", "api", "-p"})["limits"][0]["used"][0]["used"], 550);
}

TEST_F(UsageVerbTest, TopRanksTheLimitsThatAreNotCountedApart) {
  UseRpm("acme", "api", 1, 3);
  usage_.back().used = {{std::string(kOtherLimits), 3}};
  EXPECT_EQ(RunJson({"usage", "top", "*", "-r", "api", "--at", "2026-01-01T01:00:00Z"})["used"], 3);
}

TEST_F(UsageVerbTest, BadArgumentsAreNamed) {
  ExpectUsageError({"usage", "top", "-r", "api"}, "LIMIT is required");
  ExpectUsageError({"usage", "top", "rpm"}, "name an entity, a resource, or both");
  ExpectUsageError({"usage", "top", "r m", "-r", "api"}, "r m");
  ExpectUsageError({"usage", "top", "rpm", "-r", "api", "-n", "0"}, "1 to 10000");
  ExpectUsageError({"usage", "top", "rpm", "-r", "api", "--at", "noon"}, "noon");
  ExpectUsageError({"usage", "list", "-r", "api", "--plot", "--after", "x"}, "--after");
}

}  // namespace
}  // namespace weir::app
