#include "weir/zae_table/actor/write_load.h"

#include <gtest/gtest.h>

#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/testing/sharding_fixture.h"

namespace weir::dynamo {
namespace {

// An item that is written `rate` times a second for `time_s` seconds, and whether it became hot.
class WriteLoad {
 public:
  void Write(std::int64_t rate, std::int64_t time_s, bool moves, std::int64_t units = 1) {
    for (std::int64_t i = 0; i < rate * time_s; ++i) {
      const std::int64_t now = i * 1000 / rate;
      const WriteDebit debit = DebitWrite(wcu, now - refilled_, moves, units);
      wcu.tokens += debit.tokens;
      wcu.consumed += debit.consumed;
      if (moves) refilled_ = now;
      least = std::min(least, WritesLeft(wcu, now - refilled_));
      is_hot = is_hot || IsHot(wcu, now - refilled_);
    }
  }

  Meter wcu = FullMeter(WriteQuota());
  std::int64_t least = kWriteCapacity;
  bool is_hot = false;

 private:
  std::int64_t refilled_ = 0;
};

// Fails if: a bucket is divided only at the rate at which DynamoDB throttles its item.
TEST(WriteLoad, D8AnItemIsHotAtHalfOfWhatItBears) {
  for (const bool moves : {false, true}) {
    WriteLoad at_half;
    at_half.Write(500, 20, moves);
    EXPECT_TRUE(at_half.is_hot) << moves;
    WriteLoad below;
    below.Write(400, 60, moves);
    EXPECT_FALSE(below.is_hot) << moves;
    WriteLoad at_all;
    at_all.Write(1000, 2, moves);
    EXPECT_TRUE(at_all.is_hot) << moves;
  }
}

// Fails if: writes of large items count like those of small ones.
TEST(WriteLoad, D8LargeItemsAreHotEarlier) {
  WriteLoad large;
  large.Write(100, 20, false, 5);
  EXPECT_TRUE(large.is_hot);
  EXPECT_EQ(large.wcu.consumed, 100 * 20 * 5 * kWriteCost);
}

// Fails if: an aggregator of zae-limiter on the same table divides a bucket that Weir is about to
// divide.
TEST(WriteLoad, D8TheBalanceStaysAboveWhatPeersDivideAt) {
  for (const bool moves : {false, true}) {
    WriteLoad flooded;
    flooded.Write(5000, 5, moves, 3);
    EXPECT_TRUE(flooded.is_hot);
    EXPECT_GE(flooded.least, kWriteCapacity / 4);
  }
}

TEST(WriteLoad, D8ABalanceThatOthersLeftIsTakenAsItIs) {
  WriteLoad load;
  load.wcu.tokens = -5'000;
  EXPECT_EQ(DebitWrite(load.wcu, 0, false, 1).tokens, 0);
  load.wcu.tokens = 2 * kWriteCapacity;
  EXPECT_EQ(DebitWrite(load.wcu, 0, true, 1).tokens, -kWriteCapacity - kWriteCost);
}

TEST(WriteLoad, D8UnitsFollowTheSizeOfTheItem) {
  Item item = ShardItem(0, 1, 10'000);
  EXPECT_EQ(WriteUnits(item), 1);
  item["note"] = Of(std::string(1024, 'x'));
  EXPECT_EQ(WriteUnits(item), 2);
  item["list"] = Value{List{Of(std::string(1000, 'x')), Of(std::string(1000, 'y'))}};
  item["set"] = Value{StringSet{{std::string(1024, 'z')}}};
  EXPECT_EQ(WriteUnits(item), 5);
  EXPECT_EQ(ReadImage(item).value().write_units, 5);
  EXPECT_EQ(WriteUnits({}), 1);
}

}  // namespace
}  // namespace weir::dynamo
