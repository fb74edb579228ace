#include "weir/aggregator/lambda/function_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<FunctionSettings> Read(const std::map<std::string, std::string>& variables) {
  return ReadFunctionSettings([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

TEST(FunctionSettings, OnlyTheTableIsNeeded) {
  const auto settings = Read({{"TABLE_NAME", "limits"}, {"SNAPSHOT_WINDOWS", ""}});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->table, "limits");
  EXPECT_THAT(settings->windows, ElementsAre(UsageWindow::kHourly, UsageWindow::kDaily));
  EXPECT_EQ(settings->retention_days, 90);
  EXPECT_FALSE(settings->archive_bucket);
}

TEST(FunctionSettings, AreThoseOfZaeLimiter) {
  const auto settings = Read({{"TABLE_NAME", "limits"},
                              {"SNAPSHOT_WINDOWS", "daily,monthly"},
                              {"SNAPSHOT_TTL_DAYS", "30"},
                              {"ENABLE_ARCHIVAL", "true"},
                              {"ARCHIVE_BUCKET_NAME", "events"},
                              {"AWS_LAMBDA_FUNCTION_NAME", "limits-aggregator"}});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_THAT(settings->windows, ElementsAre(UsageWindow::kDaily, UsageWindow::kMonthly));
  EXPECT_EQ(settings->retention_days, 30);
  EXPECT_EQ(settings->archive_bucket, "events");
  EXPECT_EQ(settings->function_name, "limits-aggregator");
}

TEST(FunctionSettings, AnErrorHasTheNameTheValueAndWhatWouldBeRight) {
  const std::map<std::string, std::string> good = {{"TABLE_NAME", "limits"}};
  const struct {
    std::map<std::string, std::string> changed;
    const char* message;
  } cases[] = {
      {{{"TABLE_NAME", ""}}, "TABLE_NAME is not set; set it to the name of the table"},
      {{{"TABLE_NAME", "a/b"}}, "TABLE_NAME='a/b': "},
      {{{"SNAPSHOT_WINDOWS", "hourly,weekly"}},
       "SNAPSHOT_WINDOWS='hourly,weekly': unknown window 'weekly'; expected hourly, daily or "
       "monthly"},
      {{{"SNAPSHOT_TTL_DAYS", "0"}},
       "SNAPSHOT_TTL_DAYS='0': expected a number of days from 1 to 36500"},
      {{{"SNAPSHOT_TTL_DAYS", "3 weeks"}}, "SNAPSHOT_TTL_DAYS='3 weeks': expected"},
      {{{"ENABLE_ARCHIVAL", "yes"}}, "ENABLE_ARCHIVAL='yes': expected true or false"},
      {{{"ENABLE_ARCHIVAL", "true"}}, "ARCHIVE_BUCKET_NAME is not set; set it to the bucket"},
      {{{"ENABLE_ARCHIVAL", "true"}, {"ARCHIVE_BUCKET_NAME", "A"}}, "ARCHIVE_BUCKET_NAME='A': "},
  };
  for (const auto& one : cases) {
    std::map<std::string, std::string> variables = one.changed;
    variables.insert(good.begin(), good.end());
    const auto settings = Read(variables);
    ASSERT_FALSE(settings) << one.message;
    EXPECT_EQ(settings.error().code, Code::kInvalidArgument);
    EXPECT_THAT(settings.error().message, HasSubstr(one.message));
  }
}

}  // namespace
}  // namespace weir::dynamo
