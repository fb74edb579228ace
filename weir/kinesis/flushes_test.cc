#include "weir/kinesis/flushes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/kinesis/producer_fixture.h"

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Epochs, AnEpochIsThroughWhenItsRecordsAndThoseBeforeItAreSettled) {
  Epochs epochs;
  const std::uint64_t first = epochs.Put();
  EXPECT_EQ(epochs.Put(), first);
  EXPECT_EQ(epochs.End(), first);
  const std::uint64_t second = epochs.Put();
  EXPECT_EQ(epochs.End(), second);
  epochs.Settle(second);
  EXPECT_FALSE(epochs.IsThrough(second)) << "the first has two records";
  epochs.Settle(first);
  EXPECT_FALSE(epochs.IsThrough(first));
  epochs.Settle(first);
  EXPECT_TRUE(epochs.IsThrough(first));
  EXPECT_TRUE(epochs.IsThrough(second));
}

TEST(Epochs, WhatIsPutAfterTheEndOfAnEpochDoesNotHoldIt) {
  Epochs epochs;
  const std::uint64_t first = epochs.End();
  epochs.Put();
  EXPECT_TRUE(epochs.IsThrough(first));
}

class FlushesTest : public ProducerTest {
 protected:
  FlushesTest() { Make(); }
  Producer::Stream& Stream(std::size_t number) { return Open(number == 0 ? "a" : "b"); }
  std::vector<std::uint64_t> Settled(std::size_t stream, const Epochs& epochs) {
    std::vector<Flusher> through;
    flushes_.OnSettled(Stream(stream), epochs, through);
    std::vector<std::uint64_t> ids;
    for (const Flusher& flusher : through) ids.push_back(flusher.id);
    return ids;
  }

  Flushes flushes_;
};

TEST_F(FlushesTest, OneThatAwaitsSeveralStreamsIsThroughWithTheLast) {
  Epochs busy;
  const std::uint64_t last = busy.Put();
  const Epochs calm;
  const std::uint64_t id = flushes_.Add({{&Stream(0), last}, {&Stream(1), 0}}, {}).id;
  EXPECT_THAT(Settled(0, busy), IsEmpty());
  EXPECT_THAT(Settled(1, calm), IsEmpty());
  EXPECT_TRUE(flushes_.Awaits(Stream(0)));
  EXPECT_FALSE(flushes_.Awaits(Stream(1)));
  busy.Settle(last);
  EXPECT_THAT(Settled(0, busy), ElementsAre(id));
  EXPECT_FALSE(flushes_.Awaits(Stream(0)));
}

TEST_F(FlushesTest, OneThatWasTakenIsThroughNoMore) {
  const std::uint64_t first = flushes_.Add({{&Stream(0), 0}}, {}).id;
  const std::uint64_t second = flushes_.Add({{&Stream(0), 0}}, {}).id;
  EXPECT_TRUE(flushes_.Take(first));
  EXPECT_FALSE(flushes_.Take(first));
  EXPECT_THAT(Settled(0, Epochs()), ElementsAre(second));
}

}  // namespace
}  // namespace weir::kinesis
