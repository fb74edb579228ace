#include "apps/weir/store/table_caller.h"

#include <gtest/gtest.h>

#include <map>

#include "weir/sim/sim_scheduler.h"

namespace weir::app {
namespace {

class TableCallerTest : public testing::Test {
 protected:
  Result<std::optional<std::string>> Find(const std::string& url) {
    return FindCaller(url, clock_,
                      {.environment = [this](std::string_view name) -> std::optional<std::string> {
                         const auto found = variables_.find(std::string(name));
                         return found == variables_.end() ? std::nullopt
                                                          : std::optional(found->second);
                       },
                       .read_file = [](const std::string& path) -> Result<std::string> {
                         return Fail(Code::kNotFound, path);
                       }},
                      NoLog());
  }

  std::map<std::string, std::string> variables_;
  sim::SimClock clock_;
};

TEST_F(TableCallerTest, AFileHasNoCaller) {
  for (const char* url : {"memory:", "sqlite:weir.db"}) {
    EXPECT_EQ(Find(url).value_or("failed"), std::nullopt) << url;
  }
}

// Fails if: a command on an emulated table waits for AWS.
TEST_F(TableCallerTest, ATableThatIsNotOnAwsHasNoCaller) {
  EXPECT_EQ(Find("dynamodb://limits?region=eu-west-1&endpoint=http://h:8000").value_or("failed"),
            std::nullopt);
  variables_ = {{"AWS_REGION", "eu-west-1"}, {"AWS_ENDPOINT_URL_DYNAMODB", "http://h:8000"}};
  EXPECT_EQ(Find("dynamodb://limits").value_or("failed"), std::nullopt);
}

TEST_F(TableCallerTest, AWrongUrlIsAnError) {
  EXPECT_EQ(Find("dynamodb://limits").error().code, Code::kInvalidArgument) << "no region";
  EXPECT_EQ(Find("dynamodb://limits?x=y").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace weir::app
