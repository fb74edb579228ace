#include "weir/kinesis/pipeline/aggregator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "weir/kinesis/testing/record_fixture.h"
#include "weir/kinesis/wire/deaggregate.h"

namespace weir::kinesis {
namespace {

using Mode = AggregatorOptions::Mode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

UserRecord UserRecordOf(std::uint64_t number, std::string key, std::size_t bytes,
                        milliseconds due = milliseconds(100)) {
  UserRecord record{.number = number,
                    .partition_key = std::move(key),
                    .data = std::string(bytes, 'x'),
                    .deadline = kStart + due,
                    .expires = kStart + std::chrono::seconds(30)};
  record.hash = HashOfPartitionKey(record.partition_key);
  return record;
}

std::vector<std::uint64_t> NumbersIn(const KinesisRecord& record) {
  std::vector<std::uint64_t> numbers;
  for (const UserRecord& user : record.records) numbers.push_back(user.number);
  return numbers;
}

TEST(Aggregator, SendsABatchWhenItHasItsCount) {
  Aggregator aggregator({.max_count = 3});
  std::vector<KinesisRecord> out;
  aggregator.Put(UserRecordOf(1, "a", 1), ShardId{7}, out);
  aggregator.Put(UserRecordOf(2, "b", 1), ShardId{7}, out);
  EXPECT_THAT(out, IsEmpty());
  aggregator.Put(UserRecordOf(3, "c", 1), ShardId{7}, out);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_THAT(NumbersIn(out[0]), ElementsAre(1, 2, 3));
  EXPECT_EQ(out[0].shard, ShardId{7});
  EXPECT_EQ(out[0].partition_key, "a") << "as the Kinesis Producer Library calls its aggregates";
  EXPECT_EQ(out[0].explicit_hash_key, FormatHashKey(HashOfPartitionKey("a")));
  EXPECT_EQ(ParseAggregate(out[0].data)->size(), 3U);
  EXPECT_EQ(aggregator.NextWake(), std::nullopt);
}

// Fails if: an aggregate, which has only one partition key, holds records of several keys, which
// consumers distinguish by it.
TEST(Aggregator, ByPartitionKeyItMixesNoKeysAndKeepsTheKey) {
  Aggregator aggregator({.mode = Mode::kByPartitionKey});
  std::vector<KinesisRecord> out;
  UserRecord directed = UserRecordOf(4, "c", 1);
  directed.hash = HashOfPartitionKey("a");
  directed.explicit_hash_key = FormatHashKey(directed.hash);
  aggregator.Put(UserRecordOf(1, "a", 1), ShardId{7}, out);
  aggregator.Put(UserRecordOf(2, "b", 1), ShardId{7}, out);
  aggregator.Put(UserRecordOf(3, "a", 1), ShardId{7}, out);
  aggregator.Put(directed, ShardId{7}, out);
  aggregator.TakeAll(out);
  ASSERT_THAT(out, SizeIs(3));
  std::map<std::string, std::vector<std::uint64_t>> by_key;
  for (KinesisRecord& record : out) {
    EXPECT_TRUE(record.partition_key == "c" || !record.explicit_hash_key);
    by_key[record.partition_key] = NumbersIn(record);
    const std::string key = record.partition_key;
    Unframe(record);
    for (const UserRecord& user : record.records) EXPECT_EQ(user.partition_key, key);
  }
  EXPECT_THAT(by_key["a"], ElementsAre(1, 3));
  EXPECT_THAT(by_key["b"], ElementsAre(2));
  EXPECT_THAT(by_key["c"], ElementsAre(4)) << "an equal hash is not an equal key";
}

TEST(Aggregator, LeavesOneRecordAsItWasPut) {
  Aggregator aggregator({});
  std::vector<KinesisRecord> out;
  UserRecord record = UserRecordOf(1, "key", 5);
  record.explicit_hash_key = "42";
  aggregator.Put(record, ShardId{7}, out);
  aggregator.TakeAll(out);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].partition_key, "key");
  EXPECT_EQ(out[0].explicit_hash_key, "42");
  EXPECT_EQ(out[0].data, "xxxxx");
}

TEST(Aggregator, KeepsShardsApart) {
  Aggregator aggregator({});
  std::vector<KinesisRecord> out;
  aggregator.Put(UserRecordOf(1, "a", 1), ShardId{1}, out);
  aggregator.Put(UserRecordOf(2, "b", 1), ShardId{2}, out);
  aggregator.Put(UserRecordOf(3, "c", 1), ShardId{1}, out);
  aggregator.TakeAll(out);
  ASSERT_THAT(out, SizeIs(2));
  EXPECT_THAT(NumbersIn(out[0]), ElementsAre(1, 3));
  EXPECT_THAT(NumbersIn(out[1]), ElementsAre(2));
}

// aiokpl aggregates records of all shards while it does not know the shards; consumers drop such
// aggregates.
TEST(Aggregator, PutsOnlyOneHashKeyTogetherWhileTheShardIsNotKnown) {
  Aggregator aggregator({});
  std::vector<KinesisRecord> out;
  aggregator.Put(UserRecordOf(1, "a", 1), std::nullopt, out);
  aggregator.Put(UserRecordOf(2, "b", 1), std::nullopt, out);
  aggregator.Put(UserRecordOf(3, "a", 1), std::nullopt, out);
  aggregator.TakeAll(out);
  ASSERT_THAT(out, SizeIs(2));
  for (const KinesisRecord& record : out) {
    const HashKey hash = record.records.front().hash;
    const auto delivered = Deaggregate(record.partition_key, record.data, {hash, hash});
    EXPECT_EQ(delivered->size(), record.records.size());
  }
}

TEST(Aggregator, ByKeyNeverMixesHashKeysOfAShard) {
  Aggregator aggregator({.mode = Mode::kByKey});
  std::vector<KinesisRecord> out;
  aggregator.Put(UserRecordOf(1, "a", 1), ShardId{1}, out);
  aggregator.Put(UserRecordOf(2, "b", 1), ShardId{1}, out);
  aggregator.TakeAll(out);
  EXPECT_THAT(out, SizeIs(2));
}

TEST(Aggregator, SeparatelySendsEachAtOnce) {
  Aggregator aggregator({.mode = Mode::kSeparately});
  std::vector<KinesisRecord> out;
  aggregator.Put(UserRecordOf(1, "a", 1), ShardId{1}, out);
  aggregator.Put(UserRecordOf(2, "a", 1), ShardId{1}, out);
  EXPECT_THAT(out, SizeIs(2));
  EXPECT_EQ(out[0].shard, ShardId{1}) << "the limiter wants to know";
}

TEST(Aggregator, SendsWhatIsDueWithItsWholeBatch) {
  Aggregator aggregator({});
  std::vector<KinesisRecord> out;
  aggregator.Put(UserRecordOf(1, "a", 1, milliseconds(5000)), ShardId{1}, out);
  aggregator.Put(UserRecordOf(2, "a", 1, milliseconds(900)), ShardId{2}, out);
  aggregator.Put(UserRecordOf(3, "a", 1, milliseconds(100)), ShardId{1}, out);
  EXPECT_EQ(aggregator.NextWake(), kStart + milliseconds(100));
  aggregator.TakeDue(kStart + milliseconds(99), out);
  EXPECT_THAT(out, IsEmpty());
  aggregator.TakeDue(kStart + milliseconds(100), out);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_THAT(NumbersIn(out[0]), ElementsAre(1, 3));
  EXPECT_EQ(out[0].deadline, kStart + milliseconds(100));
  EXPECT_EQ(aggregator.NextWake(), kStart + milliseconds(900));
  aggregator.TakeAll(out);
  EXPECT_THAT(out, SizeIs(2));
  EXPECT_EQ(aggregator.NextWake(), std::nullopt) << "of the batch that left nothing stays behind";
}

TEST(Aggregator, ABatchExpiresWithItsFirstToExpire) {
  Aggregator aggregator({});
  std::vector<KinesisRecord> out;
  UserRecord soon = UserRecordOf(2, "a", 1);
  soon.expires = kStart + milliseconds(300);
  aggregator.Put(UserRecordOf(1, "a", 1), ShardId{1}, out);
  aggregator.Put(soon, ShardId{1}, out);
  aggregator.Put(UserRecordOf(3, "a", 1), ShardId{1}, out);
  aggregator.TakeAll(out);
  EXPECT_EQ(out[0].expires, kStart + milliseconds(300));
}

// In a batch it might wait behind more urgent records until its own deadline.
TEST(Aggregator, SendsARecordLargerThanABatchAloneAndAtOnce) {
  Aggregator aggregator({.max_bytes = 100});
  std::vector<KinesisRecord> out;
  aggregator.Put(UserRecordOf(1, "a", 10), ShardId{1}, out);
  aggregator.Put(UserRecordOf(2, "a", 1000), ShardId{1}, out);
  ASSERT_THAT(out, SizeIs(2));
  EXPECT_THAT(NumbersIn(out[0]), ElementsAre(1)) << "what was put before leaves before";
  EXPECT_THAT(NumbersIn(out[1]), ElementsAre(2));
  EXPECT_EQ(aggregator.batches(), 0U);
}

// Fails if: the key, which the service counts in the size of a record, is left out.
TEST(Aggregator, ByPartitionKeyTheKeyCounts) {
  const std::string key(256, 'k');
  for (std::size_t most = 600; most < 640; ++most) {
    Aggregator aggregator({.mode = Mode::kByPartitionKey, .max_bytes = most});
    std::vector<KinesisRecord> out;
    for (std::uint64_t i = 0; i < 20; ++i) aggregator.Put(UserRecordOf(i, key, 5), ShardId{1}, out);
    ASSERT_GE(out.size(), 1U);
    for (const KinesisRecord& record : out) EXPECT_LE(record.bytes(), most);
    EXPECT_GT(out[0].records.size(), 1U);
  }
}

// Fails if: a batch is sent long before the next record would overflow it, or after; the timer of a
// batch that left remains; records of one key leave out of order.
RC_GTEST_PROP(AggregatorProperty, LosesNothingAndFillsWhatItSends, ()) {
  const std::size_t most = *rc::gen::inRange<std::size_t>(64, 600);
  Aggregator aggregator({.max_bytes = most});
  std::vector<KinesisRecord> out;
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 200);
  std::size_t largest = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto bytes = *rc::gen::inRange<std::size_t>(0, 200);
    largest = std::max(largest, bytes);
    aggregator.Put(UserRecordOf(i, fmt::format("k{}", *rc::gen::inRange(0, 5)), bytes),
                   ShardId{*rc::gen::inRange<std::uint64_t>(0, 3)}, out);
  }
  const std::size_t before_flush = out.size();
  // Keys and framing take at most 44 bytes more when a record is added to a single one.
  for (std::size_t i = 0; i < before_flush; ++i) {
    RC_ASSERT(out[i].bytes() + largest + 44 > most);
  }
  aggregator.TakeAll(out);
  RC_ASSERT(aggregator.NextWake() == std::nullopt);
  std::set<std::uint64_t> seen;
  std::map<ShardId, std::uint64_t> last;
  for (const KinesisRecord& record : out) {
    RC_ASSERT(record.bytes() <= most || record.records.size() == 1);
    for (const UserRecord& user : record.records) {
      RC_ASSERT(seen.insert(user.number).second);
      const auto [at, is_first] = last.try_emplace(*record.shard, user.number);
      RC_ASSERT(is_first || at->second < user.number);
      at->second = user.number;
    }
  }
  RC_ASSERT(seen.size() == count);
}

}  // namespace
}  // namespace weir::kinesis
