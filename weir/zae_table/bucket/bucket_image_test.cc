#include "weir/zae_table/bucket/bucket_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kRfMillis = 1'767'225'600'013;

void AddLimit(Item& item, const std::string& name, std::int64_t tokens) {
  item["b_" + name + "_tk"] = Of(tokens);
  item["b_" + name + "_cp"] = Of(100'000);
  item["b_" + name + "_ra"] = Of(100'000);
  item["b_" + name + "_rp"] = Of(60'000);
  item["b_" + name + "_tc"] = Of(100'000 - tokens);
}

/// Returns an item as zae-limiter's fast path leaves it.
Item PlainItem() {
  Item item = Keys("ns").BucketIndexes({"acme", "gpt-4", 0});
  item["rf"] = Of(kRfMillis);
  item["shard_count"] = Of(1);
  item["cascade"] = Of(false);
  item["entity_id"] = Of("acme");
  item["resource"] = Of("gpt-4");
  AddLimit(item, "rpm", 99'000);
  AddLimit(item, "my_other-limit", -500);
  AddLimit(item, "wcu", 999'000);
  return item;
}

BucketImage Read(const Item& item) {
  const auto image = ReadImage(item);
  EXPECT_TRUE(image.has_value()) << image.error().message;
  return image.value_or(BucketImage{});
}

TEST(BucketImage, HasTheLimitsOfTheItemButNotTheInternalOne) {
  const BucketImage image = Read(PlainItem());
  EXPECT_EQ(image.key, (BucketKey{"acme", "gpt-4", 0}));
  EXPECT_EQ(image.names, (std::vector<std::string>{"my_other-limit", "rpm"}));
  EXPECT_EQ(image.bucket.time, UnixMillis{kRfMillis});
  EXPECT_EQ(image.bucket.meters[0].tokens, -500);
  EXPECT_EQ(image.bucket.meters[1].tokens, 99'000);
  EXPECT_EQ(image.bucket.meters[1].consumed, 1'000);
  EXPECT_EQ(image.bucket.meters[1].quota, (Quota{100'000, 100'000, 60'000}));
  EXPECT_EQ(image.wcu->tokens, 999'000);
  EXPECT_FALSE(image.ttl_seconds.has_value());
}

// Fails if: sums and differences with a damaged number overflow.
TEST(BucketImage, DamagedNumbersAreReadAsNumbersThatFit) {
  Item item = PlainItem();
  item["b_wcu_tk"] = Of(INT64_MIN);
  item["w_gone"] = Of("-9223372036854775808;9223372036854775807");
  item["w_t_" + std::string(32, '0')] = Of(INT64_MIN);
  const BucketImage image = Read(item);
  EXPECT_EQ(image.wcu->tokens, -kMaxDebt);
  ASSERT_TRUE(image.evicted);
  EXPECT_EQ(image.evicted->last_left, UnixMillis{0});
  EXPECT_EQ(image.evicted->left_full, UnixMillis{253'402'300'799'999});
  ASSERT_EQ(image.adjusts.size(), 1U);
  EXPECT_EQ(image.adjusts.front().second, 0);
}

TEST(BucketImage, OneOfSeveralShardsHasItsPart) {
  Item item = PlainItem();
  item["shard_count"] = Of(8);
  const BucketImage image = Read(item);
  EXPECT_EQ(image.bucket.meters[1].quota, (Quota{12'500, 100'000, 480'000}));
  EXPECT_EQ(image.stored[1], (Quota{100'000, 100'000, 60'000}));
  EXPECT_EQ(ShareOf({3, 1000, 1000}, 8, 7).capacity, 1) << "never below one millitoken";
}

TEST(BucketImage, TheRemainderCountsForItsShardAndItsTimeOnly) {
  Item item = PlainItem();
  Bucket bucket{.time = {kRfMillis}, .meters = Read(item).bucket.meters};
  bucket.meters[1].remainder = 59'999;
  const auto remainder = [&](std::uint32_t shard) {
    item["w_rem"] = Of(FormatRemainders(shard, {"my_other-limit", "rpm"}, bucket));
    return Read(item).bucket.meters[1].remainder;
  };
  EXPECT_EQ(remainder(0), 59'999);
  EXPECT_EQ(remainder(1), 0) << "copied from another shard";
  bucket.time.value -= 1;
  EXPECT_EQ(remainder(0), 0) << "somebody refilled since";
}

TEST(BucketImage, ARemainderThatMakesNoSenseIsNone) {
  Item item = PlainItem();
  for (const char* rest :
       {"rpm=60000/60000", "rpm=-1/60000", "rpm=1", "rpm=x/y", "other=1/2", "="}) {
    item["w_rem"] = Of("1;0;" + std::to_string(kRfMillis) + ";" + rest);
    EXPECT_EQ(Read(item).bucket.meters[1].remainder, 0) << rest;
  }
}

TEST(BucketImage, WhatIsNotImplementedIsRefusedByName) {
  struct Case {
    std::string attribute;
    Value value;
    std::string named;
  };
  for (const Case& c :
       {Case{"sched", Of("1h9s500"), "a schedule"}, Case{"rsched", Of("1m0h0"), "a calendar quota"},
        Case{"b_rpm_sched", Of("1h9s500"), "a schedule (limit rpm)"},
        Case{"b_rpm_rsa", Of(18'000), "a session quota (limit rpm)"},
        Case{"b_rpm_soft", Of(kRfMillis + 60'000), "a soft limit (limit rpm)"},
        Case{"bypass", Of(kRfMillis + 60'000), "a bypass"},
        Case{"disabled", Of(true), "is disabled"}}) {
    Item item = PlainItem();
    item[c.attribute] = c.value;
    const auto image = ReadImage(item);
    ASSERT_FALSE(image.has_value()) << c.attribute;
    EXPECT_EQ(image.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(image.error().message, AllOf(HasSubstr("acme/gpt-4"), HasSubstr(c.named)));
  }
}

TEST(BucketImage, ALimitThatTheItemsScheduleLeavesOutIsPlain) {
  Item item = PlainItem();
  item["b_rpm_sched"] = Of("-");
  EXPECT_TRUE(ReadImage(item).has_value());
}

TEST(BucketImage, WhatIsNoBucketIsDamaged) {
  Item no_time = PlainItem();
  no_time.erase("rf");
  Item no_bucket = PlainItem();
  no_bucket["PK"] = Of("ns/ENTITY#acme");
  Item no_rate = PlainItem();
  no_rate["b_rpm_ra"] = Of(0);
  for (const Item& item : {no_time, no_bucket, no_rate}) {
    const auto image = ReadImage(item);
    ASSERT_FALSE(image.has_value());
    EXPECT_EQ(image.error().code, Code::kDataLoss) << image.error().message;
  }
}

// Fails if: an attribute that writes rely on counts as absent because it has another type.
TEST(BucketImage, AnAttributeOfAnotherTypeIsDamagedByName) {
  const Value fraction{Number{"50000.5"}};
  for (const auto& [attribute, value] :
       std::initializer_list<std::pair<std::string, Value>>{{"ttl", Of("soon")},
                                                            {"vu", fraction},
                                                            {"shard_count", Of("2")},
                                                            {"w_joins", Of("1")},
                                                            {"w_extra", Of(1)},
                                                            {"w_gone", Of(1)},
                                                            {"b_rpm_tk", fraction},
                                                            {"b_rpm_cp", Of("100000")},
                                                            {"b_rpm_tc", Of(true)}}) {
    Item item = PlainItem();
    item[attribute] = value;
    const auto image = ReadImage(item);
    ASSERT_FALSE(image.has_value()) << attribute;
    EXPECT_EQ(image.error().code, Code::kDataLoss);
    EXPECT_THAT(image.error().message,
                AllOf(HasSubstr("bucket acme/gpt-4"), HasSubstr("attribute " + attribute + " ")));
  }
}

// Fails if: a bucket is refused once its consumption does not fit into 64 bits.
TEST(BucketImage, AConsumptionBeyond64BitsIsNoDamage) {
  Item item = PlainItem();
  item["b_rpm_tc"] = Value{Number{"9230000000000000000"}};
  EXPECT_TRUE(ReadImage(item).has_value());
}

TEST(BucketImage, AWriteLimitOfAnotherTypeIsNotUsed) {
  for (const auto* attribute : {"b_wcu_tk", "b_wcu_tc"}) {
    Item item = PlainItem();
    item[attribute] = Of("many");
    EXPECT_FALSE(Read(item).wcu) << attribute;
  }
}

// D6. No client leaves such a balance, and sums with it could overflow.
TEST(BucketImage, D6ABalanceBeyondAllDebtIsDamaged) {
  for (const std::int64_t tokens : {INT64_MIN, -kMaxDebt - 1, kMaxDebt + 1, INT64_MAX}) {
    Item item = PlainItem();
    item["b_rpm_tk"] = Of(tokens);
    const auto image = ReadImage(item);
    ASSERT_FALSE(image.has_value()) << tokens;
    EXPECT_EQ(image.error().code, Code::kDataLoss);
    EXPECT_THAT(image.error().message, AllOf(HasSubstr("bucket acme/gpt-4"), HasSubstr("limit rpm"),
                                             HasSubstr(std::to_string(tokens))));
  }
  Item item = PlainItem();
  item["b_rpm_tk"] = Of(-kMaxDebt);
  EXPECT_EQ(Read(item).bucket.meters[1].tokens, -kMaxDebt);
}

}  // namespace
}  // namespace weir::dynamo
