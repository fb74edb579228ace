#include "weir/aggregator/usage/bucket_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/aggregator/testing/change_fixture.h"
#include "weir/zae_table/actor/fence_slots.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const BucketKey kBucket{"acme", "gpt-4", 3};

// Returns the deltas of a record that must be readable.
Consumed DeltasOf(const ChangeRecord& record) {
  const auto change = ReadChange(record, 0);
  EXPECT_TRUE(change && *change);
  Consumed deltas;
  if (!change || !*change) return deltas;
  for (const auto& [limit, delta] : (*change)->deltas) deltas[std::string(limit)] = delta;
  return deltas;
}

TEST(BucketChange, AChangeOfACounterIsConsumption) {
  const auto record = Changed(kBucket, 7, {{"rpm", 1'000}, {"tpm", 5'000}, {"cost", 8}},
                              {{"rpm", 2'500}, {"tpm", 1'000}, {"cost", 8}});
  const auto change = ReadChange(record, 4);
  ASSERT_TRUE(change && *change);
  EXPECT_EQ(DeltasOf(record), (Consumed{{"rpm", 1'500}, {"tpm", -4'000}}));
  EXPECT_EQ((*change)->record, 4U);
  EXPECT_EQ((*change)->sequence.text(), std::string(39, '0') + "7");
  EXPECT_EQ((*change)->namespace_id, "ns");
  EXPECT_EQ((*change)->bucket, kBucket);
  EXPECT_EQ((*change)->at, record.created);
}

// Fails if: the first request of a bucket, or of a limit, is not counted, or one that left is.
TEST(BucketChange, NewItemsAndNewLimitsCountFromZero) {
  EXPECT_EQ(DeltasOf(Inserted(kBucket, 1, {{"rpm", 3'000}})), (Consumed{{"rpm", 3'000}}));
  EXPECT_EQ(DeltasOf(Changed(kBucket, 1, {{"rpm", 9}}, {{"rpm", 9}, {"tpm", 2'000}})),
            (Consumed{{"tpm", 2'000}}));
  EXPECT_THAT(DeltasOf(Changed(kBucket, 1, {{"rpm", 9}, {"tpm", 2'000}}, {{"rpm", 9}})), IsEmpty());
}

// A client of zae-limiter seeds a limit that lost its capacity: it replaces the counter.
TEST(BucketChange, ASeededLimitCountsFromZero) {
  ChangeRecord record = Changed(kBucket, 1, {{"rpm", 50'000}}, {{"rpm", 2'000}});
  record.old_image.erase("b_rpm_cp");
  EXPECT_EQ(DeltasOf(record), (Consumed{{"rpm", -48'000}})) << "its balance is unchanged";
  record.new_image["b_rpm_tk"] = Of(998'000);
  EXPECT_EQ(DeltasOf(record), (Consumed{{"rpm", 2'000}}));
}

// zae-limiter's aggregator copies all attributes of shard 0 to a new shard.
TEST(BucketChange, AStaleCounterInANewItemIsNotCounted) {
  ChangeRecord record = Inserted(kBucket, 1, {{"rpm", 0}, {"old", 7'000}});
  record.new_image.erase("b_old_cp");
  EXPECT_THAT(DeltasOf(record), IsEmpty());
}

TEST(BucketChange, WritesOnTheItemAreNoUsage) {
  const auto record =
      Changed(kBucket, 1, {{"rpm", 0}, {"wcu", 1'000}}, {{"rpm", 1'000}, {"wcu", 3'000}});
  EXPECT_EQ(DeltasOf(record), (Consumed{{"rpm", 1'000}}));
  EXPECT_EQ((*ReadChange(record, 0))->write_units, 2'000);
}

TEST(BucketChange, AWriteThatSetsASlotIsWeirs) {
  ChangeRecord record = Changed(kBucket, 1, {{"rpm", 0}}, {{"rpm", 1'000}});
  EXPECT_FALSE((*ReadChange(record, 0))->is_fenced_write);
  record.old_image[SlotAttribute(10)] = Of(FenceValue{1, {2}, 3});
  record.new_image[SlotAttribute(10)] = Of(FenceValue{1, {2}, 3});
  EXPECT_FALSE((*ReadChange(record, 0))->is_fenced_write) << "the slot of another process";
  record.new_image[SlotAttribute(10)] = Of(FenceValue{1, {2}, 4});
  EXPECT_TRUE((*ReadChange(record, 0))->is_fenced_write);
}

TEST(BucketChange, OtherRecordsAreNoChanges) {
  ChangeRecord removed = Changed(kBucket, 1, {{"rpm", 1}}, {});
  removed.kind = ChangeKind::kRemove;
  EXPECT_EQ(*ReadChange(removed, 0), std::nullopt);
  ChangeRecord other = Changed(kBucket, 1, {{"rpm", 1}}, {{"rpm", 2}});
  other.keys = ToItem(Keys("ns").Entity("acme"));
  EXPECT_EQ(*ReadChange(other, 0), std::nullopt);
}

// Fails if: a record that cannot be counted passes for one without consumption.
TEST(BucketChange, ABadRecordIsReported) {
  const auto is_bad = [](auto damage) {
    ChangeRecord record = Changed(kBucket, 1, {{"rpm", 1'000}}, {{"rpm", 2'000}});
    damage(record);
    const auto change = ReadChange(record, 0);
    return !change && change.error().code == Code::kDataLoss;
  };
  using R = ChangeRecord;
  EXPECT_FALSE(is_bad([](R&) {}));
  EXPECT_TRUE(is_bad([](R& r) { r.sequence_number = "x"; }));
  EXPECT_TRUE(is_bad([](R& r) { r.sequence_number = ""; }));
  EXPECT_TRUE(is_bad([](R& r) { r.sequence_number = std::string(41, '1'); }));
  EXPECT_TRUE(is_bad([](R& r) { r.keys.erase("SK"); }));
  EXPECT_TRUE(is_bad([](R& r) { r.keys["PK"] = Of("ns/BUCKET#acme#gpt-4#x"); }));
  EXPECT_TRUE(is_bad([](R& r) { r.keys["PK"] = Of("ns/BUCKET#acme#gpt-4#03"); }));
  EXPECT_TRUE(is_bad([](R& r) { r.new_image.clear(); }));
  EXPECT_TRUE(is_bad([](R& r) { r.old_image.clear(); }));
  EXPECT_TRUE(is_bad([](R& r) { r.created = {0}; }));
  EXPECT_TRUE(is_bad([](R& r) { r.new_image["b_rpm_tc"] = Of("2000"); }));
  EXPECT_TRUE(is_bad([](R& r) { r.old_image["b_rpm_tc"] = Value{Number{"1.5"}}; }));
  EXPECT_TRUE(is_bad([](R& r) { r.new_image["b_rpm_tc"] = Of(INT64_MAX); }));
  EXPECT_TRUE(is_bad([](R& r) { r.new_image["b_a;b_tc"] = Of(1); }));
}

// Fails if: hostile or damaged keys add a watermark each to a usage item, until it is full.
TEST(BucketChange, AShardThatNoBucketHasIsBad) {
  const BucketKey last{"acme", "gpt-4", kMaxShards - 1};
  EXPECT_TRUE(ReadChange(Changed(last, 1, {{"rpm", 0}}, {{"rpm", 1'000}}), 0));
  const BucketKey beyond{"acme", "gpt-4", kMaxShards};
  const auto change = ReadChange(Changed(beyond, 1, {{"rpm", 0}}, {{"rpm", 1'000}}), 0);
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().code, Code::kDataLoss);
  EXPECT_THAT(change.error().message, HasSubstr("at most 32 shards"));
}

}  // namespace
}  // namespace weir::dynamo
