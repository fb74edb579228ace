#include "weir/kinesis/reader/user_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/kinesis/testing/record_fixture.h"
#include "weir/kinesis/wire/aggregate.h"
#include "weir/kinesis/wire/md5.h"

namespace weir::kinesis {
namespace {

const ReadShard kWholeShard{.id = {4}, .range = {0, kMaxHashKey}};

std::string AggregateOf(std::vector<std::string> keys) {
  AggregateWriter writer;
  for (const std::string& key : keys) writer.Add({key, std::nullopt, "data of " + key});
  return writer.Take();
}

/// Adds the magic and the checksum.
std::string FramedMessage(const std::string& message) {
  std::string data = std::string(kAggregateMagic) + message;
  for (const std::uint8_t byte : Md5Of({message})) data += static_cast<char>(byte);
  return data;
}

TEST(UserRecords, AnAggregateComesApartInItsOrder) {
  ReaderStats stats;
  std::vector<StreamRecord> out;
  AppendUserRecords(kWholeShard, {"7", "k", AggregateOf({"a", "b"})}, stats, out);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[1].shard, ShardId{4});
  EXPECT_EQ(out[1].sequence_number, "7");
  EXPECT_EQ(out[1].sub_sequence_number, 1U);
  EXPECT_EQ(out[1].partition_key, "b");
  EXPECT_EQ(out[1].data, "data of b");
  EXPECT_EQ(stats.kinesis_records, 1U);
  EXPECT_EQ(stats.records, 2U);
}

TEST(UserRecords, ARecordThatIsNotAggregatedIsReturnedAsItIs) {
  ReaderStats stats;
  std::vector<StreamRecord> out;
  AppendUserRecords(kWholeShard, {"7", "k", "plain"}, stats, out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].data, "plain");
  EXPECT_EQ(out[0].sub_sequence_number, 0U);
}

TEST(UserRecords, AnAggregateOfAnotherShardIsDropped) {
  ReaderStats stats;
  std::vector<StreamRecord> out;
  const ReadShard narrow{.id = {4}, .range = {0, 0}};
  AppendUserRecords(narrow, {"7", "k", AggregateOf({"a", "b"})}, stats, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(stats.dropped, 1U);
  EXPECT_EQ(stats.records, 0U);
}

// Fails if: damaged data are returned as a record, or a later damage replaces the first.
TEST(UserRecords, TheFirstDamageIsKept) {
  ReaderStats stats;
  std::vector<StreamRecord> out;
  // Magic, a message that ends within a field, and its checksum.
  const std::string damaged = FramedMessage(std::string("\x0a\x7f", 2));
  AppendUserRecords(kWholeShard, {"7", "k", damaged}, stats, out);
  AppendUserRecords(kWholeShard, {"8", "k", damaged}, stats, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(stats.damaged, 2U);
  EXPECT_THAT(stats.first_damage.value().message,
              testing::HasSubstr("shardId-000000000004, sequence number 7: "));
}

// Fails if: small records that name one long key get a copy of it each.
TEST(UserRecords, AnAggregateWithAKeyThatTheServiceRefusesIsDamaged) {
  std::string records;
  for (int i = 0; i < 200; ++i) records.append("\x1a\x06\x08\x00\x10\x00\x1a\x00", 8);
  const std::string key = "\x0a\x80\x08" + std::string(1'024, 'k');
  const std::string long_key = "\x0a\x81\x08" + std::string(1'025, 'k');
  const std::string hash = "\x12\x27" + std::string(39, '0');
  const std::string long_hash = "\x12\x28" + std::string(40, '0');
  ReaderStats stats;
  std::vector<StreamRecord> out;
  for (const std::string& tables : {long_key + hash, key + long_hash}) {
    AppendUserRecords(kWholeShard, {"7", "k", FramedMessage(tables + records)}, stats, out);
  }
  EXPECT_EQ(out.size(), 0U);
  EXPECT_EQ(stats.damaged, 2U);
  EXPECT_THAT(stats.first_damage.value().message,
              testing::HasSubstr("a key has 1025 bytes, more than 1024"));
  AppendUserRecords(kWholeShard, {"8", "k", FramedMessage(key + hash + records)}, stats, out);
  EXPECT_EQ(out.size(), 200U);
}

// Fails if: an aggregate of 1 MB becomes 200 MB of records.
TEST(UserRecords, AnAggregateWhoseKeysAreTooLargeTogetherIsDamaged) {
  std::string message = "\x0a\x80\x08" + std::string(1'024, 'k');
  while (message.size() < 1'000'000) message.append("\x1a\x04\x08\x00\x1a\x00", 6);
  ReaderStats stats;
  std::vector<StreamRecord> out;
  AppendUserRecords(kWholeShard, {"7", "k", FramedMessage(message)}, stats, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(stats.damaged, 1U);
}
}  // namespace
}  // namespace weir::kinesis
