// Tests of Flush, of one stream and of all streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "weir/kinesis/testing/producer_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProducerFlushTest : public ProducerTest {
 protected:
  ProducerFlushTest() {
    Make({.record_max_buffered_time = seconds(20)});
    Open("a");
    Open("b");
    scheduler_.Advance(seconds(1));
  }
  Done<void> Note(std::optional<Status>& status) {
    return [&status](Status got) { status = std::move(got); };
  }
};

// Fails if: the records of another stream are sent, or are waited for.
TEST_F(ProducerFlushTest, OfOneStreamLeavesTheOthersWaitingForCompany) {
  ASSERT_TRUE(TryPut(Open("a")));
  ASSERT_TRUE(TryPut(Open("b")));
  std::optional<Status>& flushed = NewStatus();
  producer_->Flush(Open("a"), Deadline::Never(), Note(flushed));
  scheduler_.Advance(milliseconds(15));
  ASSERT_TRUE(flushed) << "it waits for its own stream only";
  EXPECT_TRUE(*flushed);
  EXPECT_THAT(kinesis_.requests["a"], ElementsAre(1));
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(kinesis_.requests["b"], IsEmpty());
}

TEST_F(ProducerFlushTest, OfAStreamWithoutRecordsEndsAtOnce) {
  ASSERT_TRUE(TryPut(Open("b")));
  std::optional<Status>& flushed = NewStatus();
  producer_->Flush(Open("a"), Deadline::Never(), Note(flushed));
  ASSERT_TRUE(flushed);
  EXPECT_TRUE(*flushed);
}

TEST_F(ProducerFlushTest, OfAllWaitsForEachStream) {
  ASSERT_TRUE(TryPut(Open("a")));
  ASSERT_TRUE(TryPut(Open("b")));
  std::optional<Status>& flushed = NewStatus();
  producer_->Flush(Deadline::Never(), Note(flushed));
  scheduler_.Advance(milliseconds(15));
  ASSERT_TRUE(flushed);
  EXPECT_THAT(results_, SizeIs(2));
}

// Fails if: the records of a stream skip batching because of the Flush of another stream, or as
// long as a Flush of several streams is pending.
TEST_F(ProducerFlushTest, AStreamWhoseRecordsAreStoredHurriesNoMore) {
  kinesis_.trip = milliseconds(10);
  ASSERT_TRUE(TryPut(Open("a")));
  scheduler_.Advance(milliseconds(1));
  std::optional<Status>& first = NewStatus();
  producer_->Flush(Open("a"), Deadline::Never(), Note(first));
  scheduler_.Advance(milliseconds(5));
  kinesis_.trip = seconds(5);
  ASSERT_TRUE(TryPut(Open("b")));
  std::optional<Status>& second = NewStatus();
  producer_->Flush(Deadline::Never(), Note(second));
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(first);
  ASSERT_FALSE(second) << "the other stream's record is in flight";
  ASSERT_TRUE(TryPut(Open("a")));
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(kinesis_.requests["a"], ElementsAre(1));
}

// Fails if: after a Flush whose deadline has passed, records of the stream do not wait for
// batching.
TEST_F(ProducerFlushTest, K8OfOneStreamWithoutTimeLeavesNoHurryBehind) {
  kinesis_.trip = seconds(1);
  ASSERT_TRUE(TryPut(Open("a")));
  std::optional<Status>& flushed = NewStatus();
  producer_->Flush(Open("a"), Deadline::At(scheduler_.clock().Now() - seconds(1)), Note(flushed));
  scheduler_.Advance(milliseconds(100));
  ASSERT_TRUE(flushed);
  ASSERT_FALSE(*flushed);
  EXPECT_EQ(flushed->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(kinesis_.requests["a"], SizeIs(1)) << "it was sent all the same";
  ASSERT_TRUE(TryPut(Open("a")));
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(kinesis_.requests["a"], SizeIs(1));
}

// Fails if: after a Flush whose deadline came while its records were in flight, records of the
// stream do not wait for batching.
TEST_F(ProducerFlushTest, K8ItsDeadlineEndsTheHurryOfItsStream) {
  kinesis_.trip = seconds(8);
  ASSERT_TRUE(TryPut(Open("a")));
  std::optional<Status>& flushed = NewStatus();
  producer_->Flush(Open("a"), Deadline::After(scheduler_.clock(), seconds(1)), Note(flushed));
  scheduler_.Advance(seconds(2));
  ASSERT_TRUE(flushed);
  EXPECT_EQ(flushed->error().code, Code::kDeadlineExceeded);
  ASSERT_TRUE(TryPut(Open("a")));
  scheduler_.Advance(seconds(3));
  EXPECT_THAT(kinesis_.requests["a"], SizeIs(1));
}

TEST_F(ProducerFlushTest, OfOneStreamEndsByItsDeadlineAndHurriesForTheOthersThatWait) {
  kinesis_.is_silent = true;
  ASSERT_TRUE(TryPut(Open("a")));
  std::optional<Status>& brief = NewStatus();
  std::optional<Status>& patient = NewStatus();
  producer_->Flush(Open("a"), Deadline::After(scheduler_.clock(), seconds(1)), Note(brief));
  producer_->Flush(Open("a"), Deadline::Never(), Note(patient));
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(brief);
  EXPECT_EQ(brief->error().code, Code::kDeadlineExceeded);
  EXPECT_FALSE(patient);
  ASSERT_TRUE(TryPut(Open("a")));
  scheduler_.Advance(milliseconds(100));
  EXPECT_EQ(producer_->stats().requests, 2U) << "the stream still hurries";
}

TEST_F(ProducerFlushTest, OfOneStreamIsRefusedAfterCloseAndWhereItWouldWaitForItself) {
  auto& stream = Open("a");
  std::optional<Status>& within = NewStatus();
  ASSERT_TRUE(producer_->TryPut(
      stream, {.partition_key = "k", .data = "d"},
      [&](const RecordResult&) { within = producer_->Flush(stream, Deadline::Never()); }));
  std::optional<Status>& flushed = NewStatus();
  producer_->Flush(stream, Deadline::Never(), Note(flushed));
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(within);
  ASSERT_FALSE(*within);
  EXPECT_EQ(within->error().code, Code::kFailedPrecondition);
  producer_->Close(Deadline::Never(), [](const Status&) {});
  scheduler_.Advance(seconds(1));
  producer_->Flush(stream, Deadline::Never(), Note(flushed));
  ASSERT_FALSE(*flushed);
  EXPECT_EQ(flushed->error().code, Code::kCancelled);
}

// Fails if: a Flush within a callback completes before the callback has returned.
TEST_F(ProducerFlushTest, AnswersAfterTheCallbacksOfItsRecords) {
  auto& stream = Open("a");
  std::string order;
  ASSERT_TRUE(
      producer_->TryPut(stream, {.partition_key = "k", .data = "d"}, [&](const RecordResult&) {
        producer_->Flush(stream, Deadline::Never(), [&](const Status&) { order += " flushed"; });
        order += "called back";
      }));
  producer_->Flush(Deadline::Never(), [](const Status&) {});
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(order, "called back flushed");
}

}  // namespace
}  // namespace weir::kinesis
