#include "apps/weir/terminal/log_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "weir/sim/sim_scheduler.h"

namespace weir::app {
namespace {

using ::testing::HasSubstr;

class LogOutputTest : public testing::Test {
 protected:
  LogOutputTest() { clock_.SetWall(UnixMillis{1'700'158'546'681}); }

  std::string Written(LogOptions options, LogLevel level, std::vector<LogField> fields) {
    std::ostringstream out;
    MakeLog(out, clock_, options)->Write(level, "commit.failed", fields);
    return out.str();
  }

  sim::SimClock clock_;
};

constexpr LogOptions kAsText{.lowest = LogLevel::kDebug};
constexpr LogOptions kAsJson{.lowest = LogLevel::kDebug, .format = LogFormat::kJson};

TEST_F(LogOutputTest, AnEventIsALineOfText) {
  EXPECT_EQ(
      Written(kAsText, LogLevel::kWarning,
              {{"file", "a.db"}, {"waited_ms", std::int64_t{12}}, {"ratio", 0.5}, {"full", true}}),
      "2023-11-16T18:15:46.681Z warning commit.failed file=a.db waited_ms=12 ratio=0.5 "
      "full=true\n");
}

TEST_F(LogOutputTest, ATextThatCouldBeTakenForSeveralFieldsIsQuoted) {
  EXPECT_THAT(Written(kAsText, LogLevel::kError, {{"cause", "disk full"}}),
              HasSubstr(R"(cause="disk full")"));
  EXPECT_THAT(Written(kAsText, LogLevel::kError, {{"cause", ""}}), HasSubstr(R"(cause="")"));
  EXPECT_THAT(Written(kAsText, LogLevel::kError, {{"cause", "a=b"}}), HasSubstr(R"(cause="a=b")"));
  EXPECT_THAT(Written(kAsText, LogLevel::kError, {{"cause", R"(a"b)"}}),
              HasSubstr(R"(cause="a\"b")"));
}

TEST_F(LogOutputTest, AnEventIsAJsonObject) {
  const std::string line = Written(kAsJson, LogLevel::kInfo,
                                   {{"file", "a b"}, {"bytes", std::int64_t{7}}, {"full", false}});
  EXPECT_EQ(nlohmann::json::parse(line),
            nlohmann::json::parse(R"({"time":"2023-11-16T18:15:46.681Z","level":"info",
                                      "event":"commit.failed","file":"a b","bytes":7,"full":false})"));
}

TEST_F(LogOutputTest, HostileFieldsStayOnOneLine) {
  for (const LogOptions& options : {kAsText, kAsJson}) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::string hostile = "a" + std::string(1, static_cast<char>(byte)) + "\nb\x1b[31m";
      const std::string line = Written(options, LogLevel::kError, {{"entity", hostile}});
      EXPECT_EQ(std::ranges::count(line, '\n'), 1) << byte;
      EXPECT_EQ(std::ranges::count(line, '\x1b'), 0) << byte;
    }
  }
}

TEST_F(LogOutputTest, EventsBelowTheLevelAreDropped) {
  const LogOptions errors{.lowest = LogLevel::kError};
  EXPECT_EQ(Written(errors, LogLevel::kWarning, {}), "");
  EXPECT_NE(Written(errors, LogLevel::kError, {}), "");
  EXPECT_EQ(Written({.lowest = std::nullopt}, LogLevel::kError, {}), "");
  std::ostringstream out;
  EXPECT_FALSE(MakeLog(out, clock_, errors)->IsEnabled(LogLevel::kWarning));
  EXPECT_TRUE(MakeLog(out, clock_, errors)->IsEnabled(LogLevel::kError));
}

TEST_F(LogOutputTest, LinesOfThreadsStayWhole) {
  std::ostringstream out;
  const auto log = MakeLog(out, clock_, kAsText);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 100; ++n) log->Write(LogLevel::kInfo, "event", {});
      });
    }
  }
  std::istringstream lines(out.str());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(line, "2023-11-16T18:15:46.681Z info event");
  }
  EXPECT_EQ(count, 400);
}

TEST_F(LogOutputTest, LevelsAndFormatsAreReadFromTheirNames) {
  EXPECT_EQ(ParseLogLevel("info").value(), LogLevel::kInfo);
  EXPECT_EQ(ParseLogLevel("off").value(), std::nullopt);
  EXPECT_EQ(ParseLogLevel("verbose").error().message,
            "'verbose' is not a log level: debug, info, warning, error or off");
  EXPECT_EQ(ParseLogFormat("json").value(), LogFormat::kJson);
  EXPECT_EQ(ParseLogFormat("xml").error().message, "'xml' is not a log format: text or json");
}

}  // namespace
}  // namespace weir::app
