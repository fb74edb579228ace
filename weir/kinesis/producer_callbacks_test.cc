// Tests of callbacks on an executor of the caller's choice.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "weir/base/rng.h"
#include "weir/kinesis/testing/producer_fixture.h"
#include "weir/runtime/executor.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Keeps its tasks until a test runs them.
class HeldTasks final : public Executor {
 public:
  void Post(Task task) override { tasks.push_back(std::move(task)); }
  void Run(std::size_t place) {
    Task task = std::move(tasks[place]);
    tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(place));
    task();
  }
  void RunAll() {
    while (!tasks.empty()) Run(0);
  }

  std::deque<Task> tasks;
};

class ProducerCallbacksTest : public ProducerTest {
 protected:
  ~ProducerCallbacksTest() override {
    if (producer_ == nullptr) return;
    producer_->Close(Deadline::At(scheduler_.clock().Now()), [](const Status&) {});
    for (int i = 0; i < 2; ++i) {
      scheduler_.Advance(seconds(60));
      tasks_.RunAll();
    }
    scheduler_.RunReady();
    producer_.reset();
  }

  Producer::Stream& Begin(ProducerConfig config = {}) {
    config.wire = WireFormat::kJson;
    producer_ = std::make_unique<Producer>(
        ProducerParts{.client = kinesis_, .scheduler = scheduler_, .callbacks = &tasks_}, config,
        1);
    Producer::Stream& stream = Open("s");
    scheduler_.Advance(seconds(1));
    return stream;
  }
  Done<void> Note(std::optional<Status>& status) {
    return [&status](Status got) { status = std::move(got); };
  }

  HeldTasks tasks_;
};

// Fails if: a callback runs on the scheduler, or twice; the results of a stream are reordered.
TEST_F(ProducerCallbacksTest, EachRunsOnceInATaskOfItsOwnInTheOrderOfTheResults) {
  auto& stream = Begin();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(results_, IsEmpty());
  ASSERT_THAT(tasks_.tasks, SizeIs(3));
  tasks_.RunAll();
  ASSERT_THAT(results_, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(results_[i].sub_number, i);
  scheduler_.Advance(seconds(60));
  EXPECT_THAT(tasks_.tasks, IsEmpty());
}

// Fails if: results whose tasks do not run accumulate without bound.
TEST_F(ProducerCallbacksTest, AResultThatWaitsForItsTaskOccupiesRoom) {
  auto& stream = Begin({.max_outstanding_records = 2});
  ASSERT_TRUE(TryPut(stream));
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(60));
  EXPECT_EQ(producer_->stats().stored, 2U);
  EXPECT_EQ(producer_->pending(), 2U);
  EXPECT_GT(producer_->pending_bytes(), 0U);
  EXPECT_GE(producer_->oldest_age(), seconds(60));
  EXPECT_EQ(TryPut(stream).error().code, Code::kResourceExhausted);
  tasks_.Run(0);
  EXPECT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(1));
  tasks_.RunAll();
  EXPECT_EQ(producer_->pending(), 0U);
  EXPECT_EQ(producer_->pending_bytes(), 0U);
  EXPECT_EQ(producer_->oldest_age(), nanoseconds(0));
}

// Fails if: Flush completes before the last callback of its records has run.
TEST_F(ProducerCallbacksTest, FlushAnswersWhenTheCallbacksHaveRun) {
  auto& stream = Begin({.record_max_buffered_time = seconds(20)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(TryPut(stream));
  std::optional<Status>& of_stream = NewStatus();
  std::optional<Status>& of_all = NewStatus();
  std::optional<Status>& brief = NewStatus();
  producer_->Flush(stream, Deadline::Never(), Note(of_stream));
  producer_->Flush(Deadline::Never(), Note(of_all));
  producer_->Flush(Deadline::After(scheduler_.clock(), seconds(1)), Note(brief));
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(brief);
  ASSERT_FALSE(*brief);
  EXPECT_EQ(brief->error().code, Code::kDeadlineExceeded);
  tasks_.Run(1);
  tasks_.Run(0);
  scheduler_.Advance(seconds(1));
  EXPECT_FALSE(of_stream);
  EXPECT_FALSE(of_all);
  tasks_.Run(0);
  scheduler_.RunReady();
  EXPECT_TRUE(of_stream);
  EXPECT_TRUE(of_all);
  EXPECT_THAT(results_, SizeIs(3));
}

// Fails if: Flush completes while the last callback still runs.
TEST_F(ProducerCallbacksTest, FlushDoesNotAnswerWhileACallbackRuns) {
  auto& stream = Begin();
  std::optional<Status>& flushed = NewStatus();
  bool was_early = false;
  ASSERT_TRUE(producer_->TryPut(stream, {.partition_key = "k"}, [&](const RecordResult&) {
    scheduler_.RunReady();
    was_early = flushed.has_value();
  }));
  producer_->Flush(stream, Deadline::Never(), Note(flushed));
  scheduler_.Advance(seconds(1));
  tasks_.RunAll();
  EXPECT_FALSE(was_early);
  scheduler_.RunReady();
  EXPECT_TRUE(flushed);
}

// Fails if: records of the stream do not wait for batching after a Flush that a callback completed.
TEST_F(ProducerCallbacksTest, K8AFlushThatEndedWithACallbackLeavesNoHurryBehind) {
  auto& stream = Begin({.record_max_buffered_time = seconds(20)});
  ASSERT_TRUE(TryPut(stream));
  producer_->Flush(Deadline::Never(), [](const Status&) {});
  scheduler_.Advance(milliseconds(100));
  kinesis_.trip = seconds(5);
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(milliseconds(1));
  producer_->Flush(Deadline::After(scheduler_.clock(), milliseconds(1)), [](const Status&) {});
  scheduler_.Advance(milliseconds(100));
  ASSERT_THAT(kinesis_.requests["s"], SizeIs(2)) << "it is in flight";
  tasks_.RunAll();
  scheduler_.RunReady();
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(3));
  EXPECT_THAT(kinesis_.requests["s"], SizeIs(2));
}

// Fails if: records that are put while a Flush waits for a slow callback do not wait for batching.
TEST_F(ProducerCallbacksTest, I14AFlushThatWaitsForCallbacksOnlyHurriesNobody) {
  auto& stream = Begin({.record_max_buffered_time = seconds(20)});
  ASSERT_TRUE(TryPut(stream));
  producer_->Flush(Deadline::Never(), [](const Status&) {});
  scheduler_.Advance(milliseconds(1));
  kinesis_.trip = seconds(20);
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(milliseconds(100));
  ASSERT_THAT(kinesis_.requests["s"], SizeIs(2)) << "one is in flight";
  ASSERT_THAT(tasks_.tasks, SizeIs(1)) << "the callback of the other waits";
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(3));
  EXPECT_THAT(kinesis_.requests["s"], SizeIs(2));
}

TEST_F(ProducerCallbacksTest, CloseAnswersWhenTheCallbacksHaveRunAlsoAfterItsDeadline) {
  auto& stream = Begin();
  kinesis_.is_silent = true;
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(1));
  std::optional<Status>& closed = NewStatus();
  producer_->Close(Deadline::After(scheduler_.clock(), seconds(1)), Note(closed));
  scheduler_.Advance(seconds(2));
  EXPECT_FALSE(closed);
  ASSERT_THAT(tasks_.tasks, SizeIs(1));
  tasks_.RunAll();
  scheduler_.RunReady();
  ASSERT_TRUE(closed);
  EXPECT_TRUE(*closed);
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_TRUE(results_.front().maybe_duplicate) << "it was in flight";
}

// Fails if: a call within a callback waits for space, or for callbacks, that need this thread.
TEST_F(ProducerCallbacksTest, WhatWouldWaitForCallbacksIsRefusedWithinOne) {
  auto& stream = Begin({.max_outstanding_records = 1});
  std::vector<Code> codes;
  const auto note = [&codes](const Status& status) {
    codes.push_back(status ? Code::kUnknown : status.error().code);
  };
  const Record record{.partition_key = "k", .data = "d"};
  ASSERT_TRUE(producer_->TryPut(stream, record, [&](const RecordResult&) {
    EXPECT_TRUE(producer_->Put(stream, record, Keep())) << "its own room is free";
    note(producer_->Put(stream, record, Keep()));
    const auto result = producer_->PutBlocking(stream, record);
    note(result ? Status() : Status(weir::Fail(result.error())));
    note(producer_->Flush(stream, Deadline::Never()));
    note(producer_->Flush(Deadline::Never()));
    note(producer_->Close(Deadline::Never()));
  }));
  scheduler_.Advance(seconds(1));
  tasks_.RunAll();
  EXPECT_THAT(codes, ElementsAre(Code::kFailedPrecondition, Code::kFailedPrecondition,
                                 Code::kFailedPrecondition, Code::kFailedPrecondition,
                                 Code::kFailedPrecondition));
  scheduler_.Advance(seconds(1));
  tasks_.RunAll();
  EXPECT_THAT(results_, SizeIs(1)) << "the one that there was room for";
  EXPECT_TRUE(TryPut(stream)) << "nothing was closed";
}

// Fails if: a callback runs twice or never, or its space is not freed, in any order of tasks.
TEST_F(ProducerCallbacksTest, EachRunsOnceInAnyOrder) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  Begin({.record_ttl = seconds(3), .max_outstanding_records = 50});
  std::map<int, int> runs;
  int taken = 0;
  int flushes = 0;
  int flushed = 0;
  for (int i = 0; i < 2'000; ++i) {
    kinesis_.is_silent = rng.Chance(0.1);
    auto& stream = Open(fmt::format("s{}", rng.Below(4)));
    const Record record{.partition_key = "k", .data = "d"};
    if (producer_->TryPut(stream, record, [&runs, taken](const RecordResult&) { ++runs[taken]; })) {
      ++taken;
    }
    if (rng.Chance(0.05)) {
      ++flushes;
      producer_->Flush(stream, Deadline::Never(), [&](const Status&) { ++flushed; });
    }
    scheduler_.Advance(milliseconds(static_cast<std::int64_t>(rng.Below(40))));
    while (!tasks_.tasks.empty() && rng.Chance(0.6)) tasks_.Run(rng.Below(tasks_.tasks.size()));
    EXPECT_LE(producer_->pending(), 50U);
  }
  scheduler_.Advance(seconds(10));
  tasks_.RunAll();
  scheduler_.RunReady();
  EXPECT_GT(taken, 100);
  EXPECT_EQ(runs.size(), static_cast<std::size_t>(taken));
  for (const auto& [number, count] : runs) EXPECT_EQ(count, 1) << number;
  EXPECT_EQ(flushed, flushes);
  EXPECT_EQ(producer_->pending(), 0U);
  EXPECT_EQ(producer_->pending_bytes(), 0U);
}

}  // namespace
}  // namespace weir::kinesis
