// Tests of a pipeline, with the settings of a producer, on a simulated stream that enforces limits
// as the service does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "weir/kinesis/producer_config.h"
#include "weir/kinesis/testing/sim_stream_fixture.h"
#include "weir/sim/kinesis/kinesis_stream.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;

PipelineOptions AsProducer() { return ProducerConfig{}.Pipeline(); }

std::size_t NotStored(const SimStream& run) {
  return static_cast<std::size_t>(std::ranges::count_if(
      run.results, [](const auto& entry) { return !entry.second.result.stored; }));
}

nanoseconds LongestWait(const SimStream& run) {
  nanoseconds longest{0};
  for (const auto& [number, told] : run.results) longest = std::max(longest, told.after);
  return longest;
}

// Fails if: the requests for pages after the first one name the stream's ARN, which the service
// refuses.
TEST(PipelineStream, K1AStreamByArnOf2500ShardsHasACompleteMap) {
  SimStream run(2'500, AsProducer());
  run.address = StreamAddress{.name = {}, .arn = run.server.Stream("s")->arn()};
  run.Begin();
  run.scheduler.Advance(seconds(2));
  EXPECT_EQ(run.server.counts().Requests("ListShards"), 3U);
  EXPECT_EQ(run.server.counts().invalid, 0U);
  run.PutEvenly(1'000, seconds(1));
  run.scheduler.Advance(seconds(5));
  EXPECT_EQ(run.StoredSince(Instant{}), 1'000U);
}

// Fails if: records that were put before the shards were known leave at the rate of one shard.
TEST(PipelineStream, K5WhatWaitsWithoutAMapIsPlacedWhenThereIsOne) {
  for (const bool ordered : {false, true}) {
    PipelineOptions options = AsProducer();
    options.ordered = ordered;
    SimStream run(16, options);
    run.server.faults.refuse_list = 1;
    run.Begin();
    run.PutEvenly(20'000, milliseconds(300));
    run.server.faults.refuse_list = 0;
    run.PutEvenly(20'000, seconds(1));
    run.scheduler.Advance(seconds(2));
    EXPECT_GT(run.server.counts().refused_lists, 0U);
    EXPECT_EQ(run.results.size(), run.records) << "nothing waits for seconds, ordered " << ordered;
    EXPECT_EQ(NotStored(run), 0U);
  }
}

// Fails if: a stream that may not be listed gets the rate of one shard.
TEST(PipelineStream, K5WithoutPermissionToListNearlyAllOfTheStreamIsUsed) {
  constexpr std::size_t kUnlisted = 8;
  SimStream run(kUnlisted, AsProducer());
  run.server.faults.refuse_list = 1;
  run.Begin();
  run.PutEvenly(9'000, seconds(5));
  const Instant half = run.Now();
  run.PutEvenly(9'000, seconds(5));
  EXPECT_GE(run.StoredSince(half), kUnlisted * 5 * 800) << "80 % of the stream";
  run.scheduler.Advance(seconds(20));
  EXPECT_EQ(run.results.size(), run.records);
  EXPECT_EQ(NotStored(run), 0U);
}

// Fails if: throttles do not slow down the requests to a stream that may not be listed.
TEST(PipelineStream, K5OneHotKeyOfAStreamThatMayNotBeListedIsSentAtItsShardsRate) {
  SimStream run(8, AsProducer());
  run.server.faults.refuse_list = 1;
  run.Begin();
  run.PutEvenly(1'000, seconds(2));
  for (int i = 0; i < 1'000; ++i) {
    for (int k = 0; k < 10; ++k) run.Put("hot", std::string(2'000, 'x'), seconds(60));
    run.scheduler.Advance(milliseconds(10));
  }
  run.scheduler.Advance(seconds(61));
  EXPECT_EQ(run.results.size(), run.records);
  EXPECT_EQ(NotStored(run), 0U);
  const PipelineCounts& counts = run.pipeline.counts();
  EXPECT_LT(counts.throttled, counts.kinesis_records / 4);
}

// Puts 2,000 records per second of one key, each with two seconds to live: twice the rate of a
// shard.
void PutTwiceARate(SimStream& run, milliseconds time, milliseconds step) {
  for (milliseconds at{0}; at < time; at += step) {
    for (std::int64_t k = 0; k < 2 * step.count(); ++k) run.Put("key", "x", seconds(2));
    run.scheduler.Advance(step);
  }
}

// Fails if: records that a shard's rate admits just before they expire are not sent.
TEST(PipelineStream, I14AShardWithTwiceItsLoadIsSentItsWholeRate) {
  for (const auto& budget : {std::optional<BudgetOptions>(), std::optional(BudgetOptions{})}) {
    PipelineOptions options = AsProducer();
    options.aggregator.mode = AggregatorOptions::Mode::kSeparately;
    options.shared_budget = budget;
    SimStream run(1, options);
    run.budget_trip = milliseconds(10);
    run.Begin();
    PutTwiceARate(run, seconds(5), milliseconds(10));
    const Instant half = run.Now();
    PutTwiceARate(run, seconds(5), milliseconds(10));
    EXPECT_GE(run.StoredSince(half), 5 * 900U) << "90 % of the shard, budget " << !!budget;
    run.scheduler.Advance(seconds(5));
    EXPECT_EQ(run.results.size(), run.records);
  }
}

// Fails if: the budget is requested for records that expire before the decision, and is used up by
// them.
TEST(PipelineStream, I14AnOverloadedShardIsFilledThoughItsBudgetAnswersLate) {
  for (const std::int64_t trip : {1, 10, 50, 90, 150, 300}) {
    PipelineOptions options = AsProducer();
    options.aggregator.mode = AggregatorOptions::Mode::kSeparately;
    options.shared_budget = BudgetOptions{};
    SimStream run(1, options);
    run.budget_trip = milliseconds(trip);
    run.Begin();
    PutTwiceARate(run, seconds(5), milliseconds(1));
    const Instant half = run.Now();
    PutTwiceARate(run, seconds(5), milliseconds(1));
    const std::int64_t most = std::min<std::int64_t>(1'000, 250 * 1'000 / trip);
    EXPECT_GE(run.StoredSince(half), static_cast<std::size_t>(5 * most * 90 / 100))
        << "trip " << trip;
    run.scheduler.Advance(seconds(5));
    EXPECT_EQ(run.results.size(), run.records);
  }
}

// Fails if: records that are granted late, and fill a request, expire before the request is sent.
TEST(PipelineStream, I14WhatIsGrantedAndFillsARequestIsSent) {
  PipelineOptions options = AsProducer();
  options.aggregator.mode = AggregatorOptions::Mode::kSeparately;
  options.shared_budget = BudgetOptions{};
  options.collector.max_count = 10;
  SimStream run(1, options);
  run.budget_trip = milliseconds(10);
  run.Begin();
  PutTwiceARate(run, seconds(5), milliseconds(10));
  const Instant half = run.Now();
  PutTwiceARate(run, seconds(5), milliseconds(10));
  EXPECT_GE(run.StoredSince(half), 5 * 900U);
}

// Fails if: a large record waits as long as small ones come.
TEST(PipelineStream, K2LargeRecordsAreStoredAmongSmallOnes) {
  for (const std::size_t mib : {std::size_t{5}, std::size_t{9}}) {
    PipelineOptions options = AsProducer();
    constexpr std::int64_t kFast = std::int64_t{1} << 30;
    options.limiter.bytes = PerSecond(kFast);
    SimStream run(8, options, {.bytes_per_second = kFast});
    run.Begin();
    run.PutEvenly(2'000, seconds(2), 1'000);
    const std::uint64_t large = run.records;
    run.Put("large", std::string(mib << 20, 'x'));
    run.PutEvenly(2'000, seconds(2), 1'000);
    ASSERT_TRUE(run.results.contains(large)) << mib;
    EXPECT_TRUE(run.results.at(large).result.stored);
    run.scheduler.Advance(seconds(5));
    EXPECT_EQ(run.results.size(), run.records);
    EXPECT_EQ(NotStored(run), 0U);
    EXPECT_LT(LongestWait(run), milliseconds(500));
  }
}

// Fails if: an aggregate is filled with data up to the size of a record, so that the service
// refuses it for its partition key.
TEST(PipelineStream, AFullAggregateIsAcceptedWithItsKey) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  AggregateWriter writer;
  writer.Add({"one", std::nullopt, "small"});
  const std::size_t frame = writer.SizeWith({"two", std::nullopt, std::string(kMost / 2, 'x')});
  PipelineOptions options = AsProducer();
  options.aggregator.max_bytes = kMost;
  for (const std::size_t less : {0U, 1U}) {
    SimStream run(1, options, {}, kMost);
    run.Begin();
    run.scheduler.Advance(seconds(1));
    run.Put("one", "small");
    run.Put("two", std::string(kMost - frame + kMost / 2 - less, 'x'));
    run.scheduler.Advance(seconds(10));
    EXPECT_EQ(run.results.size(), 2U);
    EXPECT_EQ(NotStored(run), 0U) << "with " << less << " bytes for the key";
    EXPECT_EQ(run.server.counts().stored, 2U - less) << "it is filled to the byte";
  }
}

}  // namespace
}  // namespace weir::kinesis
