// Tests of writing and reading aggregates: vectors of other implementations, and properties.
#include "weir/kinesis/wire/aggregate.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "weir/kinesis/wire/deaggregate.h"
#include "weir/kinesis/wire/md5.h"

namespace weir::kinesis {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

struct Given {
  std::string key;
  std::optional<std::string> hash;
  std::string data;

  UserRecordView View() const { return {key, hash, data}; }
};

std::vector<UserRecordView> Views(const std::vector<Given>& records) {
  std::vector<UserRecordView> views;
  for (const Given& record : records) views.push_back(record.View());
  return views;
}

std::string Write(const std::vector<Given>& records) {
  AggregateWriter writer;
  for (const Given& record : records) writer.Add(record.View());
  return writer.Take();
}

std::string FromBase64(const std::string& base64) {
  std::string bytes;
  EXPECT_TRUE(base64 == "-" || absl::Base64Unescape(base64, &bytes)) << base64;
  return bytes;
}

struct AggregateVector {
  std::string name;
  std::string data;
  std::vector<Given> records;
};

std::vector<AggregateVector> ReadVectors() {
  std::ifstream file(WEIR_SOURCE_DIR "/weir/kinesis/testdata/aggregates.txt");
  std::vector<AggregateVector> vectors;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name, first, hash, data;
    words >> name >> first >> hash >> data;
    if (name != "record") {
      vectors.push_back({name, FromBase64(first), {}});
    } else {
      const auto explicit_hash = hash == "-" ? std::nullopt : std::optional(hash);
      vectors.back().records.push_back({first, explicit_hash, FromBase64(data)});
    }
  }
  return vectors;
}

TEST(Aggregate, IsWhatOtherProducersWrite) {
  const std::vector<AggregateVector> vectors = ReadVectors();
  ASSERT_EQ(vectors.size(), 7U);
  for (const AggregateVector& vector : vectors) {
    EXPECT_EQ(Write(vector.records), vector.data) << vector.name;
    const auto read = ParseAggregate(vector.data);
    ASSERT_TRUE(read) << vector.name << ": " << read.error().message;
    EXPECT_THAT(*read, ElementsAreArray(Views(vector.records))) << vector.name;
  }
}

std::string ChecksumOf(const std::string& aggregate) {
  std::string hex;
  for (const char byte : aggregate.substr(aggregate.size() - 16)) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return hex;
}

// Indexes of two bytes (V8) and lengths of two and three bytes (V9), checked by size and checksum.
TEST(Aggregate, WritesLongNumbers) {
  std::vector<Given> many;
  for (int i = 0; i < 130; ++i) many.push_back({fmt::format("k{:03}", i), std::nullopt, "D"});
  EXPECT_EQ(Write(many).size(), 1712U);
  EXPECT_EQ(ChecksumOf(Write(many)), "d06d23208703fbda4672c881101f15e7");
  const std::vector<Given> longer{{"a", std::nullopt, std::string(200, 'z')},
                                  {"b", std::nullopt, std::string(16384, 'z')}};
  EXPECT_EQ(Write(longer).size(), 16628U);
  EXPECT_EQ(ChecksumOf(Write(longer)), "7c3e00ffd0a9dedf041b6c648aeaca1f");
}

TEST(Aggregate, LeavesOneRecordAsItIs) {
  EXPECT_EQ(Write({{"key", "12", "the data"}}), "the data");
  EXPECT_EQ(Write({{"key", std::nullopt, ""}}), "");
  EXPECT_EQ(Write({}), "");
}

TEST(Aggregate, BeginsAnewAfterTake) {
  AggregateWriter writer;
  writer.Add({"a", "1", "one"});
  writer.Add({"b", "2", "two"});
  writer.Take();
  EXPECT_EQ(writer.count(), 0U);
  EXPECT_EQ(writer.size(), 0U);
  writer.Add({"b", std::nullopt, "x"});
  writer.Add({"a", std::nullopt, "y"});
  EXPECT_EQ(writer.Take(), Write({{"b", std::nullopt, "x"}, {"a", std::nullopt, "y"}}));
}

std::vector<Given> Arbitrary() {
  const auto text = [](int longest) {
    return *rc::gen::container<std::string>(static_cast<std::size_t>(*rc::gen::inRange(0, longest)),
                                            rc::gen::arbitrary<char>());
  };
  // few keys, so that many repeat
  std::vector<std::string> keys;
  for (int i = *rc::gen::inRange(1, 200); i > 0; --i) keys.push_back(text(40));
  std::vector<Given> records;
  for (int i = *rc::gen::inRange(0, 300); i > 0; --i) {
    Given record{*rc::gen::elementOf(keys), std::nullopt, text(300)};
    if (*rc::gen::inRange(0, 3) == 0) record.hash = fmt::format("{}", *rc::gen::inRange(0, 150));
    records.push_back(std::move(record));
  }
  return records;
}

// Fails if: an index is counted as one byte; the size of a known key is counted again; the frame is
// counted for a single record.
RC_GTEST_PROP(Aggregate, KnowsItsSizeAndIsReadBack, ()) {
  const std::vector<Given> records = Arbitrary();
  AggregateWriter writer;
  for (const Given& record : records) {
    const std::size_t foretold = writer.SizeWith(record.View());
    writer.Add(record.View());
    RC_ASSERT(writer.size() == foretold);
  }
  const std::size_t size = writer.size();
  const std::string data = writer.Take();
  RC_ASSERT(data.size() == size);
  if (records.size() < 2) return;
  const auto read = ParseAggregate(data);
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == Views(records));
}

/// Returns the message in a valid frame.
std::string Framed(const std::string& message) {
  const Md5 sum = Md5Of({message});
  return std::string(kAggregateMagic) + message + std::string(sum.begin(), sum.end());
}

TEST(Deaggregate, TakesWhatIsNotFramedAsItIs) {
  const std::string good = Write({{"a", std::nullopt, "x"}, {"b", std::nullopt, "y"}});
  EXPECT_TRUE(IsAggregate(good));
  EXPECT_FALSE(IsAggregate(""));
  EXPECT_FALSE(IsAggregate(kAggregateMagic));
  EXPECT_FALSE(IsAggregate(Framed("")));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_FALSE(IsAggregate(damaged)) << i;
    EXPECT_FALSE(IsAggregate(good.substr(0, i))) << i;
    const auto delivered = Deaggregate("key", damaged, {});
    ASSERT_TRUE(delivered);
    EXPECT_THAT(*delivered, ElementsAreArray({UserRecordView{"key", std::nullopt, damaged}}));
  }
}

TEST(Deaggregate, RefusesADamagedMessageWithAGoodChecksum) {
  const std::pair<std::string, std::string> cases[] = {
      {"\x1A\x05\x08\x05\x1A\x01x", "beyond its table"},
      {std::string("\x0A\x01"
                   "a\x1A\x07\x08\x00\x10\x00\x1A\x01x",
                   12),
       "beyond its table"},
      {std::string("\x0A\x01"
                   "a\x1A\x03\x1A\x01x",
                   8),
       "no partition key"},
      {std::string("\x0A\x01"
                   "a\x1A\x02\x08\x00",
                   7),
       "no data"},
      {"\x0A\x05"
       "abc",
       "beyond the end"},
      {std::string("\x0A\x01"
                   "a\x1A\x05\x08\x00\x1A\x09x",
                   10),
       "beyond the end"},
      {"\x0A\x04\x61\x62\x63", "beyond the end"},
      {"\x0A", "cut off"},
      {"\x80\x80", "cut off"},
      {"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "longer than 64 bits"},
      {"\x0D"
       "abcd",
       "neither"},
  };
  for (const auto& [message, what] : cases) {
    const auto read = ParseAggregate(Framed(message));
    ASSERT_FALSE(read) << what;
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    EXPECT_NE(read.error().message.find(what), std::string::npos) << read.error().message;
  }
}

// Fails if: an aggregate of 1 MB becomes 170 MB of keys, or a record less is refused.
TEST(Deaggregate, RefusesRecordsWhoseKeysAreTooLargeTogether) {
  const auto read = [](int count) {
    std::string message = "\x0A\x80\x08" + std::string(1'024, 'k');
    for (int i = 0; i < count; ++i) message.append("\x1A\x04\x08\x00\x1A\x00", 6);
    return ParseAggregate(Framed(message));
  };
  // The frame and the table have 1,047 bytes: 1,024 n <= 64 (1,047 + 6 n) + 65,536 up to n = 207.
  ASSERT_TRUE(read(207));
  EXPECT_EQ(read(207)->size(), 207U);
  const auto refused = read(208);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_NE(refused.error().message.find("the keys of its records have more than"),
            std::string::npos);
}

// Fails if: an aggregate that a producer can be expected to write is refused.
TEST(Deaggregate, TakesManySmallRecordsOfOneLongKey) {
  const std::string hash(39, '1');
  const Given cases[] = {{std::string(256, 'k'), std::nullopt, ""},
                         {std::string(256, 'k'), hash, ""},
                         {std::string(1'024, 'k'), std::nullopt, "ten bytes."},
                         {std::string(1'024, 'k'), hash, "ten bytes."}};
  for (const Given& record : cases) {
    const auto read = ParseAggregate(Write(std::vector<Given>(50'000, record)));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->size(), 50'000U);
  }
}

TEST(Deaggregate, PassesOverFieldsThatItDoesNotKnow) {
  const std::string unknown = "\xF8\x06\x2A\xFA\x06\x03\x61\x62\x63";
  const std::string record("\x1A\x0B\x08\x00\x1A\x01x\x22\x04\x0A\x02kv", 13);
  const std::string data = Framed("\x0A\x01\x61" + unknown + record);
  const auto read = ParseAggregate(data);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(*read, ElementsAreArray({UserRecordView{"a", std::nullopt, "x"}}));
}

// The rule of the consumer library: if some of the records are inside the range and others below or
// above it, no record of the aggregate is delivered.
TEST(Deaggregate, DeliversAllOfAnAggregateOrNothing) {
  std::vector<Given> records;
  for (int i = 0; i < 15; ++i) records.push_back({"k", fmt::format("{}", 100 + i), "d"});
  const std::string data = Write(records);
  const auto count = [&](HashRange range) { return Deaggregate("a", data, range)->size(); };
  EXPECT_EQ(count({100, 114}), 15U);
  EXPECT_EQ(count({101, 114}), 0U);
  EXPECT_EQ(count({100, 113}), 0U);
  EXPECT_EQ(count({105, 109}), 0U);
}

TEST(Deaggregate, TakesThePartitionKeysHashWhereNoneIsGiven) {
  const std::string data = Write({{"alpha", std::nullopt, "x"}, {"alpha", std::nullopt, "y"}});
  const HashKey hash = HashOfPartitionKey("alpha");
  EXPECT_EQ(Deaggregate("a", data, {hash, hash})->size(), 2U);
  EXPECT_THAT(*Deaggregate("a", data, {hash + 1, hash + 2}), IsEmpty());
}

TEST(Deaggregate, TellsAHashKeyThatIsNone) {
  const auto delivered = Deaggregate("a", Write({{"k", "x1", "d"}, {"k", "2", "d"}}), {});
  ASSERT_FALSE(delivered);
  EXPECT_EQ(delivered.error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace weir::kinesis
