#include "weir/kinesis/pipeline/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

KinesisRecord RecordOfBytes(std::uint64_t number, std::size_t bytes,
                            std::optional<ShardId> shard = std::nullopt,
                            milliseconds due = milliseconds(0)) {
  KinesisRecord record{.partition_key = "k",
                       .data = std::string(bytes - 1, 'x'),
                       .shard = shard,
                       .deadline = kStart + due};
  record.records.push_back({.number = number});
  return record;
}

class CollectorTest : public testing::Test {
 protected:
  void Put(Collector& collector, KinesisRecord record) {
    collector.Put(std::move(record), kStart, out_);
  }
  std::vector<Collector::Request> out_;
};

TEST_F(CollectorTest, SendsWhatIsFullByCount) {
  Collector collector({.max_count = 2});
  for (std::uint64_t i = 0; i < 3; ++i) Put(collector, RecordOfBytes(i, 10));
  ASSERT_THAT(out_, SizeIs(1));
  EXPECT_THAT(Numbers(out_[0]), ElementsAre(0, 1));
}

TEST_F(CollectorTest, SendsBeforeARecordThatDoesNotFit) {
  Collector collector({.max_bytes = 400});
  Put(collector, RecordOfBytes(0, 250));
  Put(collector, RecordOfBytes(1, 250));
  ASSERT_THAT(out_, SizeIs(1));
  EXPECT_THAT(Numbers(out_[0]), ElementsAre(0));
  Put(collector, RecordOfBytes(2, 150));
  ASSERT_THAT(out_, SizeIs(2)) << "400 bytes are as many as fit";
  EXPECT_THAT(Numbers(out_[1]), ElementsAre(1, 2));
}

TEST_F(CollectorTest, SendsARecordThatNeverFitsAlone) {
  Collector collector({.max_bytes = 400});
  Put(collector, RecordOfBytes(0, 100));
  Put(collector, RecordOfBytes(1, 5000));
  ASSERT_THAT(out_, SizeIs(2));
  EXPECT_THAT(Numbers(out_[1]), ElementsAre(1));
}

TEST_F(CollectorTest, SendsWhatIsEnoughForOneShard) {
  Collector collector({.max_shard_bytes = 200});
  Put(collector, RecordOfBytes(0, 150, ShardId{1}));
  Put(collector, RecordOfBytes(1, 150, ShardId{2}));
  EXPECT_THAT(out_, IsEmpty());
  Put(collector, RecordOfBytes(2, 50, ShardId{1}));
  ASSERT_THAT(out_, SizeIs(1));
  Put(collector, RecordOfBytes(3, 150, ShardId{1}));
  EXPECT_THAT(out_, SizeIs(1)) << "it counts anew";
}

TEST_F(CollectorTest, WaitsALittleForOthersWhateverTheDeadlines) {
  Collector collector({.linger = milliseconds(20)});
  EXPECT_EQ(collector.NextWake(), std::nullopt);
  Put(collector, RecordOfBytes(0, 10, {}, milliseconds(70)));
  EXPECT_EQ(collector.NextWake(), kStart + milliseconds(20));
  Put(collector, RecordOfBytes(1, 10, {}, milliseconds(-5)));
  EXPECT_EQ(collector.NextWake(), kStart + milliseconds(20));
  collector.TakeDue(kStart + milliseconds(19), out_);
  EXPECT_THAT(out_, IsEmpty());
  collector.TakeDue(kStart + milliseconds(20), out_);
  ASSERT_THAT(out_, SizeIs(1));
  EXPECT_THAT(Numbers(out_[0]), ElementsAre(0, 1));
  EXPECT_EQ(collector.NextWake(), std::nullopt);
}

TEST_F(CollectorTest, SendsNothingWhereThereIsNothing) {
  Collector collector({});
  collector.TakeAll(out_);
  EXPECT_THAT(out_, IsEmpty());
}

// Fails if: a request exceeds a bound; a record is lost; a record overtakes another.
RC_GTEST_PROP(CollectorProperty, KeepsEveryBoundAndEveryRecord, ()) {
  const auto bytes = *rc::gen::inRange<std::size_t>(100, 3000);
  const auto count = *rc::gen::inRange<std::size_t>(1, 10);
  Collector collector({.max_count = count, .max_bytes = bytes});
  std::vector<Collector::Request> out;
  const auto records = *rc::gen::inRange<std::uint64_t>(0, 100);
  for (std::uint64_t i = 0; i < records; ++i) {
    collector.Put(RecordOfBytes(i, *rc::gen::inRange<std::size_t>(1, 1000)), kStart, out);
  }
  collector.TakeAll(out);
  std::uint64_t next = 0;
  for (const Collector::Request& request : out) {
    std::size_t sum = 0;
    for (const KinesisRecord& record : request) sum += record.bytes();
    RC_ASSERT(!request.empty() && request.size() <= count);
    RC_ASSERT(sum <= bytes || request.size() == 1);
    for (const std::uint64_t number : Numbers(request)) RC_ASSERT(number == next++);
  }
  RC_ASSERT(next == records);
}

}  // namespace
}  // namespace weir::kinesis
