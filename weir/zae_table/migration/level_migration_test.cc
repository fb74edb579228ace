#include "weir/zae_table/migration/level_migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/keys.h"
#include "weir/zae_table/migration/schema_migrations.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const NamespaceLevel kMigratedLevel{"ns", Level::Entity("acme", "gpt-4")};

Item Legacy(const std::string& limit, std::int64_t tokens) {
  return {{"PK", Of("ns/ENTITY#acme")},  {"SK", Of("#LIMIT#gpt-4#" + limit)},
          {"capacity", Of(tokens)},      {"burst", Of(tokens)},
          {"refill_amount", Of(tokens)}, {"refill_period_seconds", Of(60)}};
}

Item Composite(std::int64_t tokens) {
  return {{"PK", Of("ns/ENTITY#acme")}, {"SK", Of("#CONFIG#gpt-4")}, {"l_rpm_cp", Of(tokens)},
          {"l_rpm_ra", Of(tokens)},     {"l_rpm_rp", Of(60)},        {"GSI3PK", Of("x")}};
}

Result<LevelMigration> Plan(const StoredLevel& stored) {
  return PlanLevelMigration(
      kMigratedLevel, stored,
      {.now = [] { return UnixMillis{1'767'225'600'000}; }, .random = [] { return 7ULL; }});
}

TEST(LevelMigration, WithoutLegacyItemsThereIsNothingToDo) {
  EXPECT_THAT(Plan({.composite = Composite(1)})->writes, IsEmpty());
}

TEST(LevelMigration, LimitsOfALevelBecomeItsCompositeItem) {
  const auto plan = Plan({.legacy = {Legacy("rpm", 10), Legacy("tpm", 1000)}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->stores_limits);
  EXPECT_EQ(plan->removed, 2U);
  EXPECT_THAT(plan->limits,
              ElementsAre(Limit{"rpm", PerMinute(10)}, Limit{"tpm", PerMinute(1000)}));
  // The composite item, the count of entities with limits, two deletions, the event.
  EXPECT_THAT(plan->writes, SizeIs(5));
}

TEST(LevelMigration, LimitsThatExistStayAndDifferencesAreNamed) {
  const auto plan =
      Plan({.legacy = {Legacy("rpm", 10), Legacy("tpm", 1000)}, .composite = Composite(20)});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->stores_limits);
  EXPECT_THAT(plan->limits, ElementsAre(Limit{"rpm", PerMinute(20)}));
  EXPECT_THAT(plan->differences, ElementsAre(HasSubstr("has rpm:20, which stays"),
                                             HasSubstr("has no limit tpm, which stays")));
  EXPECT_THAT(Plan({.legacy = {Legacy("rpm", 20)}, .composite = Composite(20)})->differences,
              IsEmpty());
}

TEST(LevelMigration, ALevelThatCannotBeReadIsLeftAsItIs) {
  Item scheduled = Composite(20);
  scheduled.emplace("l_rpm_sched", Of("1h9s500"));
  EXPECT_THAT(Plan({.legacy = {Legacy("rpm", 10)}, .composite = scheduled}).error().message,
              HasSubstr("a schedule"));
  EXPECT_THAT(Plan({.legacy = {Legacy("rpm", 10), Legacy("tpm", 0)}}).error().message,
              HasSubstr("tpm"));
  EXPECT_THAT(Plan({.legacy = {Legacy("1bad", 10)}}).error().message, HasSubstr("1bad"));
  StoredLevel many;
  for (char c = 'a'; c <= 'u'; ++c) many.legacy.push_back(Legacy(std::string(1, c), 1));
  EXPECT_THAT(Plan(many).error().message, HasSubstr("more than 20 limits"));
}

TEST(SchemaMigrations, AreThoseAfterTheStoredSchema) {
  EXPECT_THAT(*MigrationsFrom("0.10.0"), IsEmpty());
  EXPECT_THAT(*MigrationsFrom("0.8.0"), SizeIs(2));
  const auto all = MigrationsFrom("0.7.3");
  ASSERT_THAT(*all, SizeIs(3));
  EXPECT_EQ(all->front().version, "0.8.0");
  EXPECT_THAT(std::string(all->back().what), HasSubstr("cannot be added"));
  EXPECT_EQ(MigrationsFrom("0.11.0").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(MigrationsFrom("new").error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace weir::dynamo
