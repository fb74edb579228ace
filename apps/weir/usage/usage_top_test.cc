#include "apps/weir/usage/usage_top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::app {
namespace {

constexpr UsageTop::Window kNewYearsDay{UsageWindow::kDaily, {1'767'225'600'000}};

UsageSnapshot TpmUsed(std::int64_t tokens, const std::string& entity) {
  return {.entity = entity, .resource = "api", .used = {{"rpm", 1}, {"tpm", tokens}}};
}

// Fails if: a pair is dropped before it is compared, or equal ones are in the order of arrival.
TEST(UsageTop, ListsTheHighestAndCountsAll) {
  UsageTop top("tpm", 2);
  for (const auto& [used, entity] : std::initializer_list<std::pair<std::int64_t, std::string>>{
           {5, "c"}, {1, "d"}, {9, "b"}, {5, "a"}, {-2, "e"}}) {
    top.Add(TpmUsed(used, entity));
  }
  EXPECT_EQ(top.Text(kNewYearsDay),
            "tpm, daily from 2026-01-01T00:00:00.000Z: 18 by 5 pairs\n"
            "entity  resource  used\n"
            "b       api          9\n"
            "a       api          5\n");
  EXPECT_EQ(top.ToJson(kNewYearsDay),
            (Json{{"limit", "tpm"},
                  {"window", "daily"},
                  {"start", "2026-01-01T00:00:00.000Z"},
                  {"used", 18},
                  {"pairs", 5},
                  {"top",
                   {{{"entity", "b"}, {"resource", "api"}, {"used", 9}},
                    {{"entity", "a"}, {"resource", "api"}, {"used", 5}}}}}));
}

TEST(UsageTop, PairsWithoutTheLimitDoNotCount) {
  UsageTop top("tpm", 2);
  UsageSnapshot other = TpmUsed(5, "a");
  other.used.erase("tpm");
  top.Add(other);
  EXPECT_EQ(top.Text(kNewYearsDay), "no usage of tpm, daily from 2026-01-01T00:00:00.000Z\n");
  EXPECT_EQ(top.ToJson(kNewYearsDay)["pairs"], 0);
  EXPECT_EQ(top.ToJson(kNewYearsDay)["used"], 0);
}

}  // namespace
}  // namespace weir::app
