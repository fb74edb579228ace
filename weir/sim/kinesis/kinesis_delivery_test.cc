#include "weir/sim/kinesis/kinesis_delivery.h"

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::sim {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string FromHex(std::string_view hex) {
  return absl::HexStringToBytes({hex.data(), hex.size()});
}

std::string Framed(const std::string& message) {
  const auto sum = Md5(message);
  return FromHex("f3899ac2") + message + std::string(sum.begin(), sum.end());
}

ReadRecord Read(std::string data, HashSpan range = {}) {
  return {.shard = "shardId-000000000003",
          .range = range,
          .sequence_number = "7",
          .partition_key = "a",
          .data = std::move(data)};
}

// (alpha, -, one), (beta, 42, two) in the layout of aggregation-format.md, encoded by hand.
const std::string kTwo = FromHex(
    "f3899ac20a05616c7068610a0462657461120234321a0708001a036f6e651a09080110001a0374776f"
    "4f07b6d5e7895317b080459b5acf0bb6");

TEST(Delivery, OfAnAggregateIsEachRecordWithItsPlace) {
  const auto delivered = Deliver(Read(kTwo));
  ASSERT_THAT(delivered, SizeIs(2));
  EXPECT_EQ(delivered[0], (Delivery{.shard = "shardId-000000000003",
                                    .sequence_number = "7",
                                    .sub_number = 0,
                                    .partition_key = "alpha",
                                    .data = "one"}));
  EXPECT_EQ(delivered[1].sub_number, 1U);
  EXPECT_EQ(delivered[1].explicit_hash_key, "42");
  EXPECT_EQ(delivered[1].data, "two");
}

TEST(Delivery, OfAPlainRecordIsTheRecordWhereverItStands) {
  for (const std::string& plain : {std::string(), std::string("plain"), FromHex("f3899ac2")}) {
    const auto delivered = Deliver(Read(plain, {.first = 5, .last = 6}));
    ASSERT_THAT(delivered, SizeIs(1));
    EXPECT_EQ(delivered[0].data, plain);
    EXPECT_EQ(delivered[0].partition_key, "a");
    EXPECT_EQ(delivered[0].sub_number, std::nullopt);
  }
}

TEST(Delivery, IsNothingWhereOneHashIsOutsideOfTheShard) {
  const Hash128 alpha = HashOfKey("alpha");
  EXPECT_THAT(Deliver(Read(kTwo, {.first = 42, .last = alpha})), SizeIs(2));
  EXPECT_THAT(Deliver(Read(kTwo, {.first = 43, .last = alpha})), IsEmpty());
  EXPECT_THAT(Deliver(Read(kTwo, {.first = 0, .last = alpha - 1})), IsEmpty());
}

TEST(Delivery, OfWhatIsNoAggregateIsTheRecordAsItIs) {
  std::string wrong_sum = kTwo;
  wrong_sum.back() ^= 1;
  const std::string cut_off = Framed(FromHex("0a05616c"));
  const std::string without_data = Framed(FromHex("0a01611a020800"));
  for (const std::string& data : {wrong_sum, cut_off, without_data}) {
    const auto delivered = Deliver(Read(data));
    ASSERT_THAT(delivered, SizeIs(1));
    EXPECT_EQ(delivered[0].data, data);
  }
}

TEST(Delivery, EndsAtAnIndexBeyondItsTable) {
  const std::string record = FromHex("1a0508001a0178");
  const std::string beyond = FromHex("1a0508011a0179");
  EXPECT_THAT(Deliver(Read(Framed(FromHex("0a0161") + record + beyond + record))), SizeIs(1));
}

TEST(Delivery, PassesOverFieldsThatAreNotKnown) {
  const std::string unknown = FromHex("f8062afa0603616263");
  EXPECT_THAT(Deliver(Read(Framed(unknown + FromHex("0a01611a0508001a0178")))), SizeIs(1));
}

TEST(Hash, IsTheMd5OfTheKeyAndReadAsDecimal) {
  EXPECT_EQ(WriteHash(HashOfKey("abcd")), "301716283811389038011477436469853762335");
  EXPECT_EQ(WriteHash(HashOfKey("")), "281949768489412648962353822266799178366");
  EXPECT_EQ(ReadHash("340282366920938463463374607431768211455"), kLastHash);
  EXPECT_EQ(WriteHash(kLastHash), "340282366920938463463374607431768211455");
  EXPECT_EQ(WriteHash(0), "0");
  for (const char* none : {"", "-1", "1 ", "x", "340282366920938463463374607431768211456"}) {
    EXPECT_EQ(ReadHash(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace weir::sim
