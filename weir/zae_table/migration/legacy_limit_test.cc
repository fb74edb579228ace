#include "weir/zae_table/migration/legacy_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

using testing::HasSubstr;

const LegacyKey kRpm{{"ns", Level::Resource("gpt-4")}, "rpm"};

Item Flat(std::int64_t capacity, std::int64_t amount, std::int64_t period) {
  return {{"capacity", Of(capacity)},
          {"refill_amount", Of(amount)},
          {"refill_period_seconds", Of(period)}};
}

std::string NameOf(const TableKey& key) {
  const auto parsed = ParseLegacyKey(key);
  return parsed ? Describe(parsed->at) + ": " + parsed->limit : "none";
}

TEST(LegacyLimit, TheKeyNamesTheLevel) {
  EXPECT_EQ(NameOf({"ns/SYSTEM#", "#LIMIT#rpm"}), "namespace ns, system: rpm");
  EXPECT_EQ(NameOf({"ns/RESOURCE#a/b", "#LIMIT#rpm"}), "namespace ns, resource a/b: rpm");
  EXPECT_EQ(ParseLegacyKey({"ns/ENTITY#acme", "#LIMIT#gpt-4#rpm"})->at.level,
            Level::Entity("acme", "gpt-4"));
  EXPECT_EQ(ParseLegacyKey({"ns/ENTITY#acme", "#LIMIT#_default_#rpm"})->at.level,
            Level::EntityDefault("acme"));
}

TEST(LegacyLimit, OtherKeysAreNone) {
  for (const TableKey& key : std::vector<TableKey>{{"ns/SYSTEM#", "#CONFIG"},
                                                   {"ns/SYSTEM#", "#LIMIT#"},
                                                   {"ns/RESOURCE#r", "#LIMIT#a#b"},
                                                   {"ns/ENTITY#e", "#LIMIT#rpm"},
                                                   {"ns/ENTITY#e", "#LIMIT##rpm"},
                                                   {"ns/ENTITY#e", "#LIMIT#r#"},
                                                   {"ns/PARENT#e", "#LIMIT#r"},
                                                   {"SYSTEM#", "#LIMIT#rpm"},
                                                   {"ENTITY#e", "#LIMIT#r#rpm"},
                                                   {"RESOURCE#a/SYSTEM", "#LIMIT#rpm"}}) {
    EXPECT_EQ(ParseLegacyKey(key), std::nullopt) << key.pk << ' ' << key.sk;
  }
}

// Fails if: the old capacity becomes the new one although there is a burst.
TEST(LegacyLimit, TheBurstBecomesTheCapacity) {
  Item item = Flat(100, 100, 60);
  EXPECT_EQ(ReadLegacyLimit(kRpm, item)->quota, PerMinute(100));
  item.emplace("burst", Of(150));
  EXPECT_EQ(ReadLegacyLimit(kRpm, item)->quota, PerMinute(100).Burst(150));
}

TEST(LegacyLimit, TheOldestItemsKeepTheirNumbersInAMap) {
  Item data = Flat(5, 10, 1);
  data.emplace("burst", Of(7));
  const auto limit = ReadLegacyLimit(kRpm, {{"data", Value{data}}});
  ASSERT_TRUE(limit) << limit.error().message;
  EXPECT_EQ(limit->name, "rpm");
  EXPECT_EQ(limit->quota, PerSecond(10).Burst(7));
}

TEST(LegacyLimit, ADamagedItemIsNotMigrated) {
  for (Item item : {Item{}, Flat(0, 1, 1), Flat(1, 0, 1), Flat(1, 1, 0), Flat(-1, 1, 1),
                    Flat(1, 1, 400LL * 86'400), Flat(20'000'000'000'000, 1, 1)}) {
    const auto limit = ReadLegacyLimit(kRpm, item);
    ASSERT_FALSE(limit);
    EXPECT_EQ(limit.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(limit.error().message, HasSubstr("resource gpt-4"));
    EXPECT_THAT(limit.error().message, HasSubstr("rpm"));
  }
}

}  // namespace
}  // namespace weir::dynamo
