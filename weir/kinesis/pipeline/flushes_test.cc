#include "weir/kinesis/pipeline/flushes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/kinesis/testing/producer_fixture.h"
#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Epochs, AnEpochIsThroughWhenItsRecordsAndThoseBeforeItAreSettled) {
  Epochs epochs;
  const std::uint64_t first = epochs.Put(kStart);
  EXPECT_EQ(epochs.Put(kStart), first);
  EXPECT_EQ(epochs.EndPresent(), first);
  const std::uint64_t second = epochs.Put(kStart);
  EXPECT_EQ(epochs.EndPresent(), second);
  epochs.OnCallbackRan(second);
  EXPECT_FALSE(epochs.IsDone(second)) << "the first has two records";
  epochs.OnCallbackRan(first);
  EXPECT_FALSE(epochs.IsDone(first));
  epochs.OnCallbackRan(first);
  EXPECT_TRUE(epochs.IsDone(first));
  EXPECT_TRUE(epochs.IsDone(second));
}

TEST(Epochs, WhatIsPutAfterTheEndOfAnEpochDoesNotHoldIt) {
  Epochs epochs;
  const std::uint64_t first = epochs.EndPresent();
  epochs.Put(kStart);
  EXPECT_TRUE(epochs.IsDone(first));
}

TEST(Epochs, KnowTheOldestToTheirStep) {
  Epochs epochs;
  EXPECT_EQ(epochs.oldest(), std::nullopt);
  std::vector<std::uint64_t> puts;
  puts.reserve(100);
  for (int i = 0; i < 100; ++i) puts.push_back(epochs.Put(kStart + milliseconds(i)));
  for (int i = 0; i < 100; ++i) {
    const Instant oldest = kStart + milliseconds(i);
    ASSERT_TRUE(epochs.oldest());
    EXPECT_LE(*epochs.oldest(), oldest);
    EXPECT_GT(*epochs.oldest(), oldest - Epochs::kStep);
    epochs.OnCallbackRan(puts[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(epochs.oldest(), std::nullopt);
}

// Fails if: a Flush does not wait for an epoch that ended because of its age.
TEST(Epochs, AFlushWaitsForWhatWasPutInEarlierSteps) {
  Epochs epochs;
  const std::uint64_t first = epochs.Put(kStart);
  const std::uint64_t second = epochs.Put(kStart + Epochs::kStep);
  const std::uint64_t last = epochs.EndPresent();
  epochs.OnCallbackRan(second);
  EXPECT_FALSE(epochs.IsDone(last));
  epochs.OnCallbackRan(first);
  EXPECT_TRUE(epochs.IsDone(last));
}

class FlushesTest : public ProducerTest {
 protected:
  FlushesTest() { Make(); }
  Producer::Stream& Stream(std::size_t number) { return Open(number == 0 ? "a" : "b"); }
  std::vector<std::uint64_t> Settled(std::size_t stream, const Epochs& epochs) {
    std::vector<Flusher> through;
    flushes_.OnCallbacksRan(Stream(stream), epochs, through);
    std::vector<std::uint64_t> ids;
    ids.reserve(through.size());
    for (const Flusher& flusher : through) ids.push_back(flusher.id);
    return ids;
  }

  Flushes flushes_;
};

TEST_F(FlushesTest, OneThatAwaitsSeveralStreamsIsThroughWithTheLast) {
  Epochs busy;
  const std::uint64_t last = busy.Put(kStart);
  const Epochs calm;
  const std::uint64_t id = flushes_.Add({{&Stream(0), last}, {&Stream(1), 0}}, {}).id;
  EXPECT_THAT(Settled(0, busy), IsEmpty());
  EXPECT_THAT(Settled(1, calm), IsEmpty());
  EXPECT_TRUE(flushes_.AwaitsResults(Stream(0), busy));
  EXPECT_FALSE(flushes_.AwaitsResults(Stream(1), calm));
  busy.OnCallbackRan(last);
  EXPECT_THAT(Settled(0, busy), ElementsAre(id));
  EXPECT_FALSE(flushes_.AwaitsResults(Stream(0), busy));
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
