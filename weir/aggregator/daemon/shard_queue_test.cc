#include "weir/aggregator/daemon/shard_queue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "weir/aggregator/testing/change_fixture.h"
#include "weir/aggregator/testing/held_lease_fixture.h"
#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/records/usage_gap.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

UnixMillis SecondOf(std::int64_t second) { return kNewYear + seconds(second); }

ChangeRecord GoodAt(std::uint64_t sequence, std::int64_t second) {
  return Changed({"acme", "api", 0}, sequence, {{"rpm", 0}}, {{"rpm", 1'000}}, SecondOf(second));
}
ChangeRecord BadAt(std::uint64_t sequence, std::int64_t second) {
  ChangeRecord record = GoodAt(sequence, second);
  record.new_image["b_rpm_tc"] = Of("no number");
  return record;
}
DamagedRecord DamagedAt(std::uint64_t sequence, std::optional<std::int64_t> second) {
  DamagedRecord record{.sequence_number = std::to_string(sequence),
                       .created = std::nullopt,
                       .error = {Code::kDataLoss, "Keys: missing"}};
  if (second) record.created = SecondOf(*second);
  return record;
}

class ShardQueueTest : public testing::Test {
 protected:
  void TearDown() override {
    queue_->Stop([] {});
    sim_.scheduler.Advance(seconds(60));
  }

  void Add(ChangeBatch batch) {
    batch.shard = "shard-1";
    queue_->AddBatch(std::move(batch), [this](bool is_applied) { completed_ = is_applied; });
    sim_.scheduler.Advance(seconds(5));
  }
  std::vector<UsageGap> Gaps() {
    return sim_
        .Ask<UsageGaps>([&](auto done) {
          ListGaps(sim_.table, {0}, {4'102'444'800'000}, 1'000, kNever, std::move(done));
        })
        .value()
        .gaps;
  }

  std::ptrdiff_t CountSkippedLines() {
    return std::ranges::count_if(log_.lines(), [](const std::string& line) {
      return line.contains("aggregator.record_skipped");
    });
  }

  ZaeSimTable sim_;
  RecordingLog log_;
  AggregateStats stats_;
  AggregatorOptions options_;
  AggregatorLease lease_ = HeldLease(sim_.scheduler.clock().Now());
  BucketDivider divider_{{sim_.table, sim_.scheduler, log_}, 1};
  bool is_draining_ = false;
  std::shared_ptr<ShardQueue> queue_ = std::make_shared<ShardQueue>(
      ShardQueue::Parts{sim_.scheduler, log_, stats_, is_draining_},
      std::make_shared<BatchRun>(BatchRunParts{sim_.table, sim_.scheduler, nullptr, divider_},
                                 AggregatorTerms{options_, lease_, log_}, 1),
      1);
  std::optional<bool> completed_;
};

// Fails if: each of many bad records is an item of its own.
TEST_F(ShardQueueTest, NeighbouringBadRecordsShareAGap) {
  ChangeBatch batch;
  batch.records.push_back(GoodAt(1, 0));
  for (std::uint64_t i = 0; i < 300; ++i) {
    batch.records.push_back(BadAt(2 + i, static_cast<std::int64_t>(i / 10)));
  }
  batch.records.push_back(GoodAt(302, 30));
  Add(std::move(batch));
  EXPECT_EQ(completed_, true);
  EXPECT_THAT(Gaps(), ElementsAre(UsageGap{"shard-1", "2", SecondOf(0), SecondOf(60)}));
  EXPECT_EQ(stats_.skipped, 300U);
  EXPECT_EQ(stats_.records, 2U) << "the good ones";
}

// Fails if: a gap of some records covers hours without a bad one.
TEST_F(ShardQueueTest, AGapOfBadRecordsHasABound) {
  ChangeBatch batch;
  for (std::uint64_t i = 0; i < 10; ++i) {
    batch.records.push_back(BadAt(1 + i, static_cast<std::int64_t>(i) * 30));
  }
  batch.records.push_back(GoodAt(11, 300));
  batch.records.push_back(BadAt(12, 301));
  Add(std::move(batch));
  const auto gaps = Gaps();
  EXPECT_THAT(gaps, SizeIs(6)) << "one for each minute";
  for (const UsageGap& gap : gaps) EXPECT_EQ(gap.until - gap.from, kRecordGapTime);
}

// Fails if: one bad record after the other fills the table with gaps and the log with errors.
TEST_F(ShardQueueTest, ABadRecordInTheStoredGapNeedsNoOther) {
  ChangeBatch batch;
  for (std::uint64_t i = 0; i < 200; i += 2) {
    batch.records.push_back(GoodAt(1 + i, 5));
    batch.records.push_back(BadAt(2 + i, 5));
  }
  Add(std::move(batch));
  ChangeBatch next;
  next.records.push_back(BadAt(301, 59));
  next.damaged.push_back(DamagedAt(302, 58));
  Add(std::move(next));
  EXPECT_EQ(completed_, true);
  EXPECT_THAT(Gaps(), ElementsAre(UsageGap{"shard-1", "2", SecondOf(0), SecondOf(60)}));
  EXPECT_EQ(stats_.gaps, 1U) << "each is a write";
  EXPECT_EQ(stats_.skipped, 102U);
  EXPECT_EQ(stats_.records, 100U);
  EXPECT_LE(CountSkippedLines(), 3);
}

// Fails if: the records of usage updates and leases, which are between all others, divide a gap.
TEST_F(ShardQueueTest, RecordsThatAreNotCountedDoNotSeparateBadOnes) {
  ChangeRecord usage = GoodAt(2, 0);
  usage.keys = ToItem({"ns/ENTITY#acme", "#USAGE#api#2026-01-01T00:00:00Z"});
  ChangeBatch batch;
  batch.records = {BadAt(1, 0), usage, BadAt(3, 1), usage, GoodAt(5, 2)};
  Add(std::move(batch));
  EXPECT_EQ(completed_, true);
  EXPECT_EQ(CountSkippedLines(), 1);
  EXPECT_EQ(stats_.skipped, 2U);
  EXPECT_EQ(stats_.records, 3U);
}

// Fails if: a shard that waits for the storage of a gap looks as if it had nothing to do.
TEST_F(ShardQueueTest, AGapThatCannotBeStoredWaits) {
  ChangeBatch batch;
  batch.damaged.push_back(DamagedAt(1, 7));
  sim_.client.refusal = "InternalServerError";
  Add(std::move(batch));
  EXPECT_EQ(queue_->oldest_waiting(), SecondOf(0));
  sim_.client.refusal.clear();
  sim_.scheduler.Advance(seconds(60));
  EXPECT_EQ(completed_, true);
  EXPECT_EQ(queue_->oldest_waiting(), std::nullopt);
}

// Fails if: what waits for the end of a queue lives as long as the queue.
TEST_F(ShardQueueTest, AStopForgetsItsCaller) {
  const auto caller = std::make_shared<int>(0);
  queue_->Stop([caller] {});
  EXPECT_EQ(caller.use_count(), 1);
}

// Fails if: the gap has the time of its batch.
TEST_F(ShardQueueTest, AGapOfADamagedRecordHasItsTime) {
  ChangeBatch batch;
  batch.records.push_back(GoodAt(9, 3'600));
  for (std::uint64_t i = 0; i < 300; ++i) batch.damaged.push_back(DamagedAt(1 + i, 7));
  batch.damaged.push_back(DamagedAt(400, std::nullopt));
  Add(std::move(batch));
  EXPECT_EQ(completed_, true);
  EXPECT_THAT(Gaps(), ElementsAre(UsageGap{"shard-1", "1", SecondOf(0), SecondOf(60)},
                                  UsageGap{"shard-1", "400", SecondOf(3'600), SecondOf(3'660)}));
  EXPECT_EQ(stats_.skipped, 301U);
}

}  // namespace
}  // namespace weir::dynamo
