// Tests of all stages together, on a small stream that splits, throttles, and loses or falsifies
// responses.
#include "weir/kinesis/pipeline/pipeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "weir/kinesis/testing/record_fixture.h"
#include "weir/kinesis/wire/deaggregate.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Faults {
  /// Of an entry.
  double throttle = 0;
  /// Of an entry: InternalFailure; half of these entries are stored.
  double fail = 0;
  /// Of the response to a request; half of these requests are stored.
  double lose = 0;
  /// Of a request, before its records are read.
  double refuse = 0;
  /// Of a response, which has one entry less.
  double miscount = 0;
  /// Of ListShards.
  double fail_list = 0;
  /// Of a reshard before a request.
  double split_or_merge = 0;
  /// If true, a reshard happens only after the one before it was listed.
  bool calm = false;
  /// Of a request before which the stream is deleted, at most 3 times. For up to 5 s it does not
  /// exist; then there is another one, whose shards have the ids of the first stream.
  double replace = 0;
};

struct Counts {
  int throttled = 0, failed = 0, lost = 0, refused = 0, miscounted = 0, reshards = 0, poisoned = 0,
      replaced = 0;
  int dropped = 0;  ///< aggregates of which consumers deliver nothing
};

/// A stream, and the records that a consumer delivers of it, by their number.
class TestStream {
 public:
  TestStream(std::uint64_t seed, Faults faults) : rng_(seed), faults_(faults) {
    shards_[0] = {0, kMaxHashKey / 2};
    shards_[1] = {kMaxHashKey / 2 + 1, kMaxHashKey};
  }

  void Heal() { faults_ = {}; }

  PutResponse PutRecords(const std::vector<KinesisRecord>& records, Instant now) {
    if (now >= missing_until_ && counts_.replaced < 3 && Happens(faults_.replace)) Replace(now);
    if (now < missing_until_) {
      return tl::unexpected(
          AwsFailure{.code = "ResourceNotFoundException", .message = "no stream"});
    }
    if (Happens(faults_.split_or_merge) && (is_listed_ || !faults_.calm)) Reshard();
    if (Happens(faults_.refuse)) return Failure(FailureClass::kTransient, counts_.refused);
    const bool poisoned = std::ranges::any_of(records, [](const KinesisRecord& record) {
      return record.data.find("poison") != std::string::npos;
    });
    if (poisoned) return Poisoned();
    const bool lost = Happens(faults_.lose);
    if (lost && rng_.Below(2) == 0) return Failure(FailureClass::kAmbiguous, counts_.lost);
    std::vector<EntryResponse> responses;
    for (const KinesisRecord& record : records) responses.push_back(PutOne(record));
    if (lost) return Failure(FailureClass::kAmbiguous, counts_.lost);
    if (Happens(faults_.miscount)) {
      ++counts_.miscounted;
      responses.pop_back();
    }
    return responses;
  }

  Result<ShardPage> List(Instant now) {
    if (now < missing_until_ || Happens(faults_.fail_list))
      return weir::Fail(Code::kUnavailable, "LimitExceeded");
    is_listed_ = true;
    ShardPage page;
    for (const auto& [id, range] : shards_) page.shards.push_back({{id}, range});
    return page;
  }

  /// Splits the oldest shard in two, or merges it with the one above it.
  void Reshard() {
    ++counts_.reshards;
    is_listed_ = false;
    const auto [id, range] = *shards_.begin();
    const auto other = std::ranges::find_if(shards_, [&](const auto& entry) {
      return entry.second.first > range.last && entry.second.first - range.last == 1;
    });
    if (other != shards_.end() && rng_.Below(2) == 0) {
      shards_[next_shard_++] = {range.first, other->second.last};
      shards_.erase(other);
    } else {
      const HashKey middle = range.first + (range.last - range.first) / 2;
      shards_[next_shard_++] = {range.first, middle};
      shards_[next_shard_++] = {middle + 1, range.last};
    }
    shards_.erase(id);
  }

  const std::map<std::uint64_t, int>& delivered() const { return delivered_; }
  /// Returns the numbers by key, in the order in which a consumer delivers them.
  const std::map<std::string, std::vector<std::uint64_t>>& log() const { return log_; }
  const Counts& counts() const { return counts_; }
  int stored() const { return stored_; }

 private:
  bool Happens(double probability) { return rng_.Unit() < probability; }

  /// Deletes the stream for longer than a response takes, and makes one of 1 to 4 shards.
  void Replace(Instant now) {
    ++counts_.replaced;
    missing_until_ = now + milliseconds(static_cast<std::int64_t>(100 + rng_.Below(5'000)));
    next_shard_ = 1 + rng_.Below(4);
    shards_.clear();
    const HashKey size = kMaxHashKey / next_shard_;
    for (std::uint64_t i = 0; i < next_shard_; ++i) {
      shards_[i] = {i * size + (i > 0 ? 1 : 0), i + 1 < next_shard_ ? (i + 1) * size : kMaxHashKey};
    }
    is_listed_ = false;
  }

  PutResponse Poisoned() {
    ++counts_.poisoned;
    return tl::unexpected(AwsFailure{.kind = FailureClass::kPermanent,
                                     .code = "ValidationException",
                                     .message = "poison",
                                     .http_status = 400});
  }

  PutResponse Failure(FailureClass kind, int& count) {
    ++count;
    AwsFailure failure{.kind = kind, .code = "Scripted", .message = "scripted", .http_status = 500};
    failure.maybe_applied = kind == FailureClass::kAmbiguous;
    return tl::unexpected(failure);
  }

  EntryResponse PutOne(const KinesisRecord& record) {
    if (Happens(faults_.throttle)) {
      ++counts_.throttled;
      return {.code = "ProvisionedThroughputExceededException", .message = "slow"};
    }
    const bool fails = Happens(faults_.fail);
    if (fails) ++counts_.failed;
    if (fails && rng_.Below(2) == 0) return {.code = "InternalFailure"};
    const HashKey hash = record.explicit_hash_key ? *ParseHashKey(*record.explicit_hash_key)
                                                  : HashOfPartitionKey(record.partition_key);
    const auto shard = std::ranges::find_if(
        shards_, [&](const auto& entry) { return entry.second.Contains(hash); });
    const auto seen = Deaggregate(record.partition_key, record.data, shard->second);
    counts_.dropped += seen->empty() ? 1 : 0;
    for (const UserRecordView& view : *seen) {
      const std::uint64_t number = std::stoull(std::string(view.data));
      ++delivered_[number];
      log_[std::string(view.partition_key)].push_back(number);
    }
    ++stored_;
    if (fails) return {.code = "InternalFailure"};
    return {.shard = FormatShardId({shard->first}), .sequence_number = std::to_string(stored_)};
  }

  Rng rng_;
  Faults faults_;
  std::map<std::uint64_t, HashRange> shards_;
  std::uint64_t next_shard_ = 2;
  Instant missing_until_{};
  std::map<std::uint64_t, int> delivered_;
  std::map<std::string, std::vector<std::uint64_t>> log_;
  Counts counts_;
  bool is_listed_ = true;
  int stored_ = 0;
};

/// Runs a pipeline on a stream: responses come after a delay, and the time advances to the next
/// event.
class Trial {
 public:
  Trial(std::uint64_t seed, Faults faults, const PipelineOptions& options = {})
      : rng_(seed), stream(seed * 3, faults), pipeline(options, seed) {
    Follow(pipeline.OnWake(now));
  }

  void Put(std::string key, std::string data, nanoseconds ttl = seconds(30)) {
    UserRecord record{.number = numbers++,
                      .partition_key = std::move(key),
                      .data = std::move(data),
                      .deadline = now + milliseconds(100),
                      .expires = now + ttl};
    record.hash = HashOfPartitionKey(record.partition_key);
    Follow(pipeline.Put(std::move(record), now));
  }
  void PutMany(int count) {
    for (int i = 0; i < count; ++i) {
      Put(fmt::format("key{}", rng_.Below(40)), std::to_string(numbers));
      if (rng_.Below(10) == 0) Advance(milliseconds(static_cast<std::int64_t>(rng_.Below(40))));
    }
  }
  void Advance(nanoseconds time) {
    const Instant until = now + time;
    while (Next(until)) {
    }
    now = until;
  }
  void Close() { Follow(pipeline.Close(now)); }
  /// Runs until nothing happens any more.
  void Finish() {
    for (int i = 0; i < 100'000 && Next(now + std::chrono::hours(1)); ++i) {
    }
  }

  const RecordResult& ResultOf(std::uint64_t number) { return results.at(number).front(); }

 private:
  bool Next(Instant until) {
    const bool responses = !responses_.empty();
    Instant next = responses ? responses_.begin()->first : until + nanoseconds(1);
    if (wake_ && *wake_ < next) next = *wake_;
    if (next > until) return false;
    now = std::max(now, next);
    if (responses && responses_.begin()->first <= now) {
      auto response = std::move(responses_.extract(responses_.begin()).mapped());
      Follow(response());
    } else {
      Follow(pipeline.OnWake(now));
    }
    return true;
  }
  Instant AfterTrip() { return now + milliseconds(static_cast<std::int64_t>(1 + rng_.Below(60))); }

  void Follow(PipelineStep step) {
    for (const PipelineStep::Send& send : step.sends) {
      ++requests;
      responses_.emplace(AfterTrip(),
                         [this, send, response = stream.PutRecords(*send.records, now)] {
                           return pipeline.OnResponse(send.id, response, now);
                         });
    }
    if (step.list) {
      responses_.emplace(AfterTrip(),
                         [this, page = stream.List(now)] { return pipeline.OnListed(page, now); });
    }
    for (RecordResult& result : step.results) {
      results[result.number].push_back(std::move(result));
    }
    wake_ = step.wake;
  }

  Rng rng_;
  std::multimap<Instant, std::function<PipelineStep()>> responses_;
  std::optional<Instant> wake_;

 public:
  TestStream stream;
  Pipeline pipeline;
  Instant now = kStart;
  std::uint64_t numbers = 0;
  int requests = 0;
  std::map<std::uint64_t, std::vector<RecordResult>> results;
};

/// Small aggregates and requests, so that there are many of them, and more than the retry budget
/// fail.
const PipelineOptions kSmallBatches{
    .aggregator = {.max_bytes = 300}, .collector = {.max_count = 4}, .retry = {.budget = 3}};

/// Returns a pipeline whose first listing has failed: it knows no shard, and no record waits for
/// one.
Pipeline WithoutShards(const PipelineOptions& options) {
  Pipeline pipeline(options, 1);
  EXPECT_TRUE(pipeline.OnWake(kStart).list);
  pipeline.OnListed(weir::Fail(Code::kUnavailable, "LimitExceeded"), kStart);
  return pipeline;
}

UserRecord Numbered(std::uint64_t number) {
  return {.number = number, .partition_key = "k", .expires = kStart + seconds(9)};
}

/// Checks that each record has one result, that acknowledged records are delivered, and that
/// records are delivered twice only if their result says so.
void ExpectHonest(Trial& run, std::uint64_t seed) {
  ASSERT_EQ(run.pipeline.pending(), 0U) << seed;
  ASSERT_THAT(run.results, SizeIs(run.numbers)) << seed;
  for (const auto& [number, results] : run.results) {
    ASSERT_THAT(results, SizeIs(1)) << seed;
    const RecordResult& result = results.front();
    const auto& all = run.stream.delivered();
    const int delivered = all.contains(number) ? all.at(number) : 0;
    EXPECT_TRUE(!result.stored || delivered >= 1) << "lost: " << number << " of seed " << seed;
    const bool exact = delivered == (result.stored ? 1 : 0);
    EXPECT_TRUE(exact || result.maybe_duplicate)
        << delivered << " of " << number << ", seed " << seed;
  }
}

// Fails if: records over the budget are retried as soon as others, or never.
TEST(Pipeline, InAnOutageSendsNoMoreAgainThanItsBudget) {
  constexpr int kRecords = 500;
  constexpr int kBudget = 100;
  Trial run(
      1, {.refuse = 1},
      {.aggregator = {.mode = AggregatorOptions::Mode::kSeparately}, .retry = {.budget = kBudget}});
  for (int i = 0; i < kRecords; ++i) run.Put(fmt::format("key{}", i), std::to_string(i));
  run.Advance(milliseconds(2400));
  EXPECT_GE(run.pipeline.counts().kinesis_records, kRecords + kBudget);
  EXPECT_LE(run.pipeline.counts().kinesis_records, kRecords + kBudget + kBudget / 10);
  run.stream.Heal();
  run.Advance(seconds(6));
  ExpectHonest(run, 1);
  for (const auto& [number, results] : run.results) EXPECT_TRUE(results.front().stored) << number;
}

TEST(Pipeline, SendsWhatIsPutOnceAndInAggregates) {
  Trial run(1, {});
  run.PutMany(3000);
  run.Finish();
  ExpectHonest(run, 1);
  EXPECT_LT(run.stream.stored(), 300) << "many user records in each Kinesis record";
  const auto in_aggregates = std::ranges::count_if(run.results, [](const auto& entry) {
    const RecordResult& result = entry.second.front();
    EXPECT_TRUE(result.stored);
    EXPECT_EQ(result.attempts.count(), 1U);
    return result.sub_number.has_value();
  });
  EXPECT_GT(in_aggregates, 2900);
  EXPECT_EQ(run.pipeline.OnWake(run.now).wake, std::nullopt) << "nothing to do, nothing to poll";
}

// No acknowledged record is dropped by a consumer, and only flagged records are delivered twice.
// Fails if: the verdict differs between user records of an aggregate; a parked record is sent again
// at once or forgotten; a response with the wrong number of entries is used.
TEST(Pipeline, IsHonestWhateverTheStreamDoes) {
  Counts met;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Trial run(seed,
              {.throttle = 0.05,
               .fail = 0.03,
               .lose = 0.03,
               .refuse = 0.03,
               .miscount = 0.02,
               .fail_list = 0.2,
               .split_or_merge = 0.1},
              kSmallBatches);
    run.PutMany(150);
    run.Finish();
    ExpectHonest(run, seed);
    const Counts& counts = run.stream.counts();
    met.throttled += counts.throttled;
    met.failed += counts.failed;
    met.lost += counts.lost;
    met.refused += counts.refused;
    met.miscounted += counts.miscounted;
    met.reshards += counts.reshards;
  }
  for (const int count :
       {met.throttled, met.failed, met.lost, met.refused, met.miscounted, met.reshards}) {
    EXPECT_GT(count, 30);
  }
}

// Without other faults there is no duplicate at all, unless a shard closes before any listing
// returned it.
TEST(Pipeline, SplitsAndMergesCostNoRecordAndNoDuplicate) {
  int reshards = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Trial run(seed, {.split_or_merge = 0.05, .calm = true}, kSmallBatches);
    run.PutMany(150);
    run.Finish();
    ExpectHonest(run, seed);
    reshards += run.stream.counts().reshards;
    for (const auto& [number, results] : run.results) {
      EXPECT_TRUE(results.front().stored) << number << " " << seed;
      EXPECT_FALSE(results.front().maybe_duplicate) << number << " " << seed;
    }
  }
  EXPECT_GT(reshards, 25);
}

// Fails if: records that wait for the rate, or in the gate that keeps the order, are sent to a
// shard that was divided, framed for it: consumers drop their aggregates.
TEST(Pipeline, ABacklogIsFramedForTheChildrenOfItsShard) {
  for (const bool ordered : {false, true}) {
    int dropped = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      PipelineOptions options = kSmallBatches;
      options.limiter.records = PerSecond(2);
      options.ordered = ordered;
      Trial run(seed, {}, options);
      run.PutMany(3'000);
      run.stream.Reshard();
      run.Finish();
      ExpectHonest(run, seed);
      dropped += run.stream.counts().dropped;
    }
    EXPECT_LE(dropped, 40) << "few are in flight, ordered: " << ordered;
  }
}

// Fails if: records are framed or judged by the ranges of a deleted stream: they are reported as
// stored although consumers drop them, or wait for a listing and are sent again.
TEST(Pipeline, AStreamThatIsReplacedCostsNoRecord) {
  int replaced = 0;
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    PipelineOptions options = kSmallBatches;
    options.ordered = seed % 3 == 0;
    Trial run(seed, {.fail_list = seed % 2 == 0 ? 0.5 : 0.0, .replace = 0.05}, options);
    run.PutMany(200);
    run.Finish();
    ExpectHonest(run, seed);
    replaced += run.stream.counts().replaced;
    for (const auto& [number, results] : run.results) failed += results.front().stored ? 0 : 1;
  }
  EXPECT_GT(replaced, 100);
  EXPECT_EQ(failed, 0) << "the records live longer than the stream is missing";
}

/// Returns whether each record comes for the first time after all earlier records of its key. A
/// record may come again later.
bool IsInOrder(const std::vector<std::uint64_t>& log) {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t number : log) {
    if (seen.insert(number).second && number != *seen.rbegin()) return false;
  }
  return true;
}

// Fails if: the gate lets all records pass; retried records go through the aggregator; a new shard
// map is used before the records that were aggregated by the old one have left.
TEST(Pipeline, KeepsTheOrderOfEachKeyWhateverTheStreamDoes) {
  int out_of_order = 0;
  for (const bool ordered : {true, false}) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
      PipelineOptions options = kSmallBatches;
      options.ordered = ordered;
      Trial run(seed,
                {.throttle = 0.1,
                 .fail = 0.05,
                 .lose = 0.05,
                 .refuse = 0.05,
                 .miscount = 0.02,
                 .fail_list = 0.2,
                 .split_or_merge = 0.1,
                 .replace = 0.01},
                options);
      run.PutMany(150);
      run.Finish();
      ExpectHonest(run, seed);
      for (const auto& [key, log] : run.stream.log()) {
        EXPECT_TRUE(!ordered || IsInOrder(log)) << key << " of seed " << seed;
        out_of_order += IsInOrder(log) ? 0 : 1;
      }
    }
  }
  EXPECT_GT(out_of_order, 150)
      << "that is what the faults do to records that nobody keeps in order";
}

TEST(Pipeline, FindsThePoisonedRecordAmongMany) {
  Trial run(1, {}, {.aggregator = {.mode = AggregatorOptions::Mode::kSeparately}});
  for (int i = 0; i < 300; ++i) {
    run.Put(fmt::format("k{}", i), i == 137 ? "poison" : std::to_string(i));
  }
  run.Finish();
  ASSERT_THAT(run.results, SizeIs(300));
  for (const auto& [number, results] : run.results) {
    EXPECT_EQ(results.front().stored, number != 137) << number;
  }
  EXPECT_EQ(run.ResultOf(137).attempts.LastCause()->code, "ValidationException");
  EXPECT_LE(run.stream.counts().poisoned, 10) << "log2(500) and one";
}

// Fails if: a refusal that all requests get counts as one of a single record, and all requests are
// halved at once.
TEST(Pipeline, K13ARefusalOfEveryRequestIsNoReasonToDivideThemAll) {
  Trial run(1, {}, {.aggregator = {.mode = AggregatorOptions::Mode::kSeparately}});
  for (int i = 0; i < 500; ++i) run.Put(fmt::format("k{}", i), "poison");
  run.Advance(seconds(5));
  EXPECT_LE(run.requests, 200) << "999 if all of them are divided";
  run.Finish();
  ASSERT_THAT(run.results, SizeIs(500));
  for (const auto& [number, results] : run.results) {
    ASSERT_THAT(results, SizeIs(1));
    EXPECT_FALSE(results.front().stored);
    EXPECT_EQ(results.front().attempts.LastCause()->code, "ValidationException");
  }
}

TEST(Pipeline, K13WhatIsGoodIsStoredAfterManyThatAreNot) {
  Trial run(1, {}, {.aggregator = {.mode = AggregatorOptions::Mode::kSeparately}});
  for (int i = 0; i < 300; ++i) {
    run.Put(fmt::format("k{}", i), i < 100 ? "poison" : std::to_string(i));
  }
  run.Finish();
  ASSERT_THAT(run.results, SizeIs(300));
  for (const auto& [number, results] : run.results) {
    EXPECT_EQ(results.front().stored, number >= 100) << number;
  }
}

/// Puts two records with different keys, which wait for a second to be sent in one aggregate.
void PutTwo(Pipeline& pipeline, std::uint64_t first, Instant now) {
  for (std::uint64_t number = first; number < first + 2; ++number) {
    UserRecord record = Numbered(number);
    record.hash = number;
    record.deadline = now + seconds(1);
    (void)pipeline.Put(std::move(record), now);
  }
}

/// Puts two records in an aggregate, to be stored on a shard that no listing has returned. Returns
/// the id of their request.
std::uint64_t ParkTwo(Pipeline& pipeline) {
  EXPECT_TRUE(pipeline.OnWake(kStart).list);
  (void)pipeline.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, kStart);
  PutTwo(pipeline, 0, kStart);
  const PipelineStep step = pipeline.Flush(kStart);
  EXPECT_THAT(step.sends, SizeIs(1));
  return step.sends.front().id;
}

/// Advances to the next step that sends a request or, if `lists`, that requests a listing.
PipelineStep RunUntil(Pipeline& pipeline, PipelineStep step, Instant& now, bool lists) {
  while (lists ? !step.list : step.sends.empty()) {
    if (!step.wake) return {};
    now = *step.wake;
    step = pipeline.OnWake(now);
  }
  return step;
}

PutResponse StreamIsMissing() {
  return tl::unexpected(AwsFailure{.code = "ResourceNotFoundException", .message = "", .body = ""});
}

// Fails if: the ranges of a deleted stream decide which records share an aggregate, or whether
// consumers of the new stream deliver it.
TEST(Pipeline, NothingIsFramedByTheRangesOfADeletedStream) {
  Pipeline pipeline({}, 1);
  const std::uint64_t id = ParkTwo(pipeline);
  Instant now = kStart + milliseconds(10);
  PipelineStep step =
      RunUntil(pipeline, pipeline.OnResponse(id, StreamIsMissing(), now), now, /*lists=*/false);
  ASSERT_THAT(step.sends, SizeIs(1));
  ASSERT_THAT(*step.sends.front().records, SizeIs(2)) << "an aggregate of both may be dropped";
  step = pipeline.OnResponse(
      step.sends.front().id,
      std::vector<EntryResponse>{{.shard = "shardId-000000000000", .sequence_number = "1"},
                                 {.shard = "shardId-000000000001", .sequence_number = "1"}},
      now);
  ASSERT_THAT(step.results, SizeIs(2)) << "no listing is needed to know that they are delivered";
  for (const RecordResult& result : step.results) EXPECT_TRUE(result.stored);
}

// Fails if: an aggregate that was in flight when the stream was missing is judged by old or by new
// ranges.
TEST(Pipeline, AnAggregateOfBeforeTheStreamWasMissingIsSentAgain) {
  Pipeline pipeline({}, 1);
  const std::uint64_t first = ParkTwo(pipeline);
  pipeline.EndFlush();
  Instant now = kStart + milliseconds(10);
  PutTwo(pipeline, 2, now);
  const PipelineStep second = pipeline.Flush(now);
  ASSERT_THAT(second.sends, SizeIs(1));
  (void)pipeline.OnResponse(first, StreamIsMissing(), now);
  const PipelineStep stored = pipeline.OnResponse(
      second.sends.front().id,
      std::vector<EntryResponse>{{.shard = "shardId-000000000000", .sequence_number = "1"}}, now);
  EXPECT_THAT(stored.results, IsEmpty()) << "shard 0 may have another range now";
  (void)pipeline.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, now + seconds(1));
  EXPECT_EQ(pipeline.pending(), 4U);
}

/// Divides shard 0, which holds all keys, into shards 1 and 2: the response to the request names
/// shard 1, and the listing that follows shows both.
void Divide(Pipeline& pipeline, std::uint64_t request, Instant& now) {
  PipelineStep step = pipeline.OnResponse(
      request,
      std::vector<EntryResponse>{{.shard = "shardId-000000000001", .sequence_number = "1"}}, now);
  if (!step.list) step = RunUntil(pipeline, std::move(step), now, /*lists=*/true);
  (void)pipeline.OnListed(
      ShardPage{{{{1}, {0, kMaxHashKey / 2}}, {{2}, {kMaxHashKey / 2 + 1, kMaxHashKey}}}, ""}, now);
}

// Fails if: records that a flush frames for a shard that was divided wait for batching once more.
TEST(Pipeline, AFlushSendsRecordsThatAreFramedAgain) {
  Pipeline pipeline({}, 1);
  const std::uint64_t request = ParkTwo(pipeline);
  pipeline.EndFlush();
  Instant now = kStart + milliseconds(10);
  for (const HashKey hash : {HashKey{1}, kMaxHashKey}) {
    UserRecord record = Numbered(2 + (hash > 1 ? 1 : 0));
    record.hash = hash;
    record.deadline = now + std::chrono::hours(1);
    record.expires = now + std::chrono::hours(2);
    (void)pipeline.Put(std::move(record), now);
  }
  Divide(pipeline, request, now);
  const PipelineStep step = pipeline.Flush(now);
  std::size_t sent = 0;
  for (const PipelineStep::Send& send : step.sends) sent += send.records->size();
  EXPECT_EQ(sent, 2U) << "one for each child";
}

// Fails if: records that were put in the order of a key before any shard was known leave without
// the shared budget, and in addition to the rate of their shard.
TEST(Pipeline, ARecordThatTheGateHeldWithoutAShardIsChargedToItsShard) {
  Pipeline pipeline = WithoutShards({.aggregator = {.mode = AggregatorOptions::Mode::kSeparately},
                                     .shared_budget = BudgetOptions{},
                                     .ordered = true});
  Instant now = kStart;
  PipelineStep step;
  for (std::uint64_t i = 0; i < 2; ++i) {
    UserRecord record = Numbered(i);
    record.deadline = now;
    record.expires = now + std::chrono::hours(1);
    step = pipeline.Put(std::move(record), now);
    if (i == 0) step = RunUntil(pipeline, std::move(step), now, /*lists=*/false);
    ASSERT_THAT(step.sends, SizeIs(i == 0 ? 1 : 0)) << "the second waits for the first";
  }
  const std::uint64_t first = 1;
  step = RunUntil(pipeline, pipeline.Flush(now), now, /*lists=*/true);
  (void)pipeline.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, now);
  step = pipeline.OnResponse(
      first, std::vector<EntryResponse>{{.shard = "shardId-000000000000", .sequence_number = "1"}},
      now);
  EXPECT_THAT(step.results, SizeIs(1));
  EXPECT_THAT(step.budget_requests, SizeIs(1));
  EXPECT_THAT(step.sends, IsEmpty());
}

// Fails if: the records of a shard that one listing has left out bypass the shared budget, and
// share no aggregate, until the next reshard.
TEST(Pipeline, AShardThatAListingLeavesOutIsFoundByTheNextOne) {
  Pipeline pipeline({.shared_budget = BudgetOptions{}}, 1);
  Instant now = kStart;
  PipelineStep step = pipeline.OnWake(now);
  EXPECT_TRUE(step.list);
  step = pipeline.OnListed(ShardPage{{{{0}, {0, 9}}}, ""}, now);
  step = RunUntil(pipeline, std::move(step), now, /*lists=*/true);
  ASSERT_TRUE(step.list);
  EXPECT_GE(now, kStart + seconds(1));
  EXPECT_LE(now, kStart + seconds(2));
  (void)pipeline.OnListed(ShardPage{{{{0}, {0, 9}}, {{1}, {10, kMaxHashKey}}}, ""}, now);
  UserRecord record = Numbered(0);
  record.hash = 10;
  record.deadline = now;
  step = pipeline.Put(std::move(record), now);
  ASSERT_THAT(step.budget_requests, SizeIs(1));
  EXPECT_EQ(step.budget_requests.front().shard, ShardId{1});
}

// Fails if: records that cannot be sent again before they expire are sent each time that another
// record of their batch expires, uncharged; a record has its result late.
TEST(Pipeline, RecordsWhoseRetryIsTooLateAreNotSentWhenOthersExpire) {
  for (const bool ordered : {false, true}) {
    constexpr nanoseconds kLong = std::chrono::hours(1);
    Pipeline pipeline({.retry = {.base = kLong, .cap = kLong}, .ordered = ordered}, 1);
    (void)pipeline.OnWake(kStart);
    (void)pipeline.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, kStart);
    for (std::uint64_t i = 0; i < 20; ++i) {
      UserRecord record = Numbered(i);
      record.hash = i;
      record.deadline = kStart + seconds(1);
      record.expires = kStart + seconds(9) + milliseconds(static_cast<std::int64_t>(i));
      (void)pipeline.Put(std::move(record), kStart);
    }
    PipelineStep step = pipeline.Flush(kStart);
    ASSERT_THAT(step.sends, SizeIs(1));
    const std::uint64_t id = step.sends.front().id;
    step = pipeline.OnResponse(
        id, tl::unexpected(AwsFailure{.kind = FailureClass::kTransient, .message = "no"}), kStart);
    std::map<std::uint64_t, Instant> ended;
    while (step.wake) {
      const Instant now = *step.wake;
      step = pipeline.OnWake(now);
      EXPECT_THAT(step.sends, IsEmpty()) << (now - kStart).count();
      for (const RecordResult& result : step.results) ended[result.number] = now;
    }
    ASSERT_THAT(ended, SizeIs(20));
    for (const auto& [number, at] : ended) {
      EXPECT_EQ(at, kStart + seconds(9) + milliseconds(static_cast<std::int64_t>(number)));
    }
    EXPECT_EQ(pipeline.pending(), 0U);
    UserRecord later = Numbered(20);
    later.hash = 0;
    later.deadline = kStart + seconds(10);
    later.expires = kStart + seconds(20);
    Instant now = kStart + seconds(10);
    step = RunUntil(pipeline, pipeline.Put(std::move(later), now), now, /*lists=*/false);
    EXPECT_THAT(step.sends, SizeIs(1)) << "its key is free again, ordered " << ordered;
  }
}

// Fails if: records that are put when the stream is missing leave before the open batches.
TEST(Pipeline, OrderIsKeptWhenTheStreamIsMissing) {
  Pipeline pipeline({.ordered = true}, 1);
  const std::uint64_t request = ParkTwo(pipeline);
  pipeline.EndFlush();
  Instant now = kStart + milliseconds(10);
  const auto put = [&](std::uint64_t number, nanoseconds linger) {
    UserRecord record = Numbered(number);
    record.hash = 9;
    record.deadline = now + linger;
    record.expires = now + std::chrono::hours(2);
    return pipeline.Put(std::move(record), now);
  };
  (void)put(7, std::chrono::hours(1));
  (void)pipeline.OnResponse(request, StreamIsMissing(), now);
  const PipelineStep step = RunUntil(pipeline, put(8, nanoseconds(0)), now, /*lists=*/false);
  ASSERT_THAT(step.sends, SizeIs(1));
  EXPECT_EQ(step.sends.front().records->front().records.front().number, 7U);
}

// Fails if: a hostile code of an entry reaches the terminal as it is.
TEST(Pipeline, TheCodeOfAnEntryIsOneLine) {
  Pipeline pipeline({}, 1);
  const std::uint64_t id = ParkTwo(pipeline);
  const std::string code = "\x1b[31mInvalid" + std::string(1'000'000, 'x');
  (void)pipeline.OnResponse(id, std::vector<EntryResponse>{{.code = code, .message = "m"}}, kStart);
  const PipelineStep step = pipeline.OnWake(kStart + seconds(10));
  ASSERT_THAT(step.results, SizeIs(2)) << "expired";
  const std::string shown = step.results.front().attempts.LastCause()->code;
  EXPECT_LE(shown.size(), 300U);
  EXPECT_EQ(shown.substr(0, 5), "?[31m");
}

// Fails if: each entry of a response keeps an error of its own, which no bound of memory counts.
TEST(Pipeline, EntriesThatFailAlikeShareTheirAttempt) {
  Pipeline pipeline(
      {.aggregator = {.mode = AggregatorOptions::Mode::kSeparately}, .retry = {.max_attempts = 1}},
      1);
  EXPECT_TRUE(pipeline.OnWake(kStart).list);
  (void)pipeline.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, kStart);
  for (std::uint64_t i = 0; i < 4; ++i) (void)pipeline.Put(Numbered(i), kStart);
  PipelineStep step = pipeline.Flush(kStart);
  ASSERT_THAT(step.sends, SizeIs(1));
  const std::string message(5'000, 'x');
  const EntryResponse failed{.code = "ValidationException", .message = message};
  const EntryResponse other{.code = "ValidationException", .message = "another"};
  step = pipeline.OnResponse(step.sends.front().id,
                             std::vector<EntryResponse>{failed, failed, other, failed}, kStart);
  ASSERT_THAT(step.results, SizeIs(4));
  std::set<const Attempt*> attempts;
  for (const RecordResult& result : step.results) {
    ASSERT_THAT(result.attempts.kept(), SizeIs(1));
    attempts.insert(result.attempts.kept()[0].get());
    EXPECT_LT(result.attempts.kept()[0]->message.size(), 500U);
  }
  EXPECT_THAT(attempts, SizeIs(2));
}

// Fails if: the backlog of a shard that was divided is sent at the parent's rate, framed for it.
TEST(Pipeline, TheBacklogOfADividedShardGoesToItsChildren) {
  Pipeline pipeline({.aggregator = {.mode = AggregatorOptions::Mode::kSeparately},
                     .limiter = {.records = PerSecond(10)}},
                    1);
  EXPECT_TRUE(pipeline.OnWake(kStart).list);
  (void)pipeline.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, kStart);
  PipelineStep step;
  for (std::uint64_t i = 0; i < 40; ++i) {
    UserRecord record = Numbered(i);
    record.hash = i % 2 == 0 ? HashKey{0} : kMaxHashKey;
    record.deadline = kStart;
    step = pipeline.Put(std::move(record), kStart);
  }
  Instant now = kStart;
  while (step.sends.empty()) {
    ASSERT_TRUE(step.wake);
    now = *step.wake;
    step = pipeline.OnWake(now);
  }
  const std::size_t sent = step.sends.front().records->size();
  step = pipeline.OnResponse(
      step.sends.front().id,
      std::vector<EntryResponse>(sent, {.shard = "shardId-000000000001", .sequence_number = "1"}),
      now);
  while (!step.list) {
    ASSERT_TRUE(step.wake);
    now = *step.wake;
    step = pipeline.OnWake(now);
  }
  step = pipeline.OnListed(ShardPage{{{{1}, {0, 9}}, {{2}, {10, kMaxHashKey}}}, ""}, now);
  int of_parent = 0;
  int of_children = 0;
  for (int i = 0; i < 5; ++i) {
    for (const PipelineStep::Send& send : step.sends) {
      for (const KinesisRecord& record : *send.records) {
        ++(record.shard == ShardId{0} ? of_parent : of_children);
      }
    }
    if (!step.wake || *step.wake > now + milliseconds(500)) break;
    now = *step.wake;
    step = pipeline.OnWake(now);
  }
  EXPECT_LE(of_parent, 1) << "admitted before the listing ended";
  EXPECT_GE(of_children, 20);
}

// Fails if: the last listing that parked records wait for is not used.
TEST(Pipeline, K6TheLastListingThatIsWaitedForDecides) {
  Pipeline pipeline({}, 1);
  const std::uint64_t id = ParkTwo(pipeline);
  Instant now = kStart + milliseconds(10);
  PipelineStep step = pipeline.OnResponse(
      id, std::vector<EntryResponse>{{.shard = "shardId-000000000005", .sequence_number = "1"}},
      now);
  for (int listing = 1; listing <= 3; ++listing) {
    while (!step.list) {
      ASSERT_TRUE(step.wake);
      now = *step.wake;
      step = pipeline.OnWake(now);
    }
    const std::uint64_t shard = listing == 3 ? 5 : 0;
    step = pipeline.OnListed(ShardPage{{{{shard}, {0, kMaxHashKey}}}, ""}, now);
    ASSERT_THAT(step.results, SizeIs(listing == 3 ? 2 : 0)) << listing;
  }
  for (const RecordResult& result : step.results) {
    EXPECT_TRUE(result.stored);
    EXPECT_FALSE(result.maybe_duplicate);
  }
}

// Fails if: a record whose shard no listing returns waits for a listing after it has expired, or
// for another record that expires later.
TEST(Pipeline, I14ARecordOnAnUnknownShardHasItsResultWhenItExpires) {
  Pipeline pipeline({}, 1);
  std::vector<std::uint64_t> requests{ParkTwo(pipeline)};
  pipeline.EndFlush();
  for (std::uint64_t i = 2; i < 4; ++i) {
    UserRecord record = Numbered(i);
    record.hash = i;
    record.deadline = kStart + seconds(1);
    record.expires = kStart + seconds(5);
    (void)pipeline.Put(std::move(record), kStart);
  }
  PipelineStep step = pipeline.Flush(kStart);
  ASSERT_THAT(step.sends, SizeIs(1));
  requests.push_back(step.sends.front().id);
  Instant now = kStart;
  for (const std::uint64_t id : requests) {
    step = pipeline.OnResponse(
        id, std::vector<EntryResponse>{{.shard = "shardId-000000000005", .sequence_number = "1"}},
        now);
  }
  std::map<std::uint64_t, nanoseconds> after;
  for (int wakes = 0; step.wake && wakes < 10; ++wakes) {
    now = std::max(now, *step.wake);
    step = pipeline.OnWake(now);
    for (const RecordResult& result : step.results) {
      after[result.number] = now - kStart;
      EXPECT_FALSE(result.stored);
      EXPECT_TRUE(result.maybe_duplicate) << "it is stored, and perhaps not delivered";
    }
  }
  EXPECT_THAT(after, ElementsAre(std::pair(0, seconds(9)), std::pair(1, seconds(9)),
                                 std::pair(2, seconds(5)), std::pair(3, seconds(5))));
}

// Fails if: a record fails before its time to live ends, because its next retry would be later.
TEST(Pipeline, K12WhatMayBeTriedAgainFailsWhenItExpiresAndNotBefore) {
  for (const bool ordered : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      Trial run(seed, {.throttle = 1}, {.ordered = ordered});
      for (int i = 0; i < 5; ++i) run.Put("k", std::to_string(i), seconds(2 + i));
      run.Finish();
      ASSERT_THAT(run.results, SizeIs(5));
      for (const auto& [number, results] : run.results) {
        const Attempt& last = *results.front().attempts.kept().back();
        EXPECT_EQ(last.code, kExpired) << seed;
        const Instant expires = kStart + seconds(2 + static_cast<int>(number));
        EXPECT_GE(last.ended, expires) << seed;
        EXPECT_LE(last.ended, expires + milliseconds(100))
            << "or the answer to a try just before, seed " << seed;
      }
    }
  }
}

// The cause is not in a record of the request, so the request is not halved.
TEST(Pipeline, AStreamThatDoesNotExistFailsAllAtOnceIfNothingIsHeld) {
  Pipeline pipeline = WithoutShards({.aggregator = {.mode = AggregatorOptions::Mode::kSeparately},
                                     .retry = {.hold_time = nanoseconds(0)}});
  std::vector<UserRecord> records;
  for (std::uint64_t i = 0; i < 10; ++i) records.push_back(Numbered(i));
  const auto sent = pipeline.PutAll(std::move(records), kStart);
  ASSERT_THAT(sent.sends, IsEmpty());
  ASSERT_THAT(pipeline.Flush(kStart).sends, SizeIs(1));
  const AwsFailure missing{.kind = FailureClass::kPermanent, .code = "ResourceNotFoundException"};
  const auto step = pipeline.OnResponse(1, tl::unexpected(missing), kStart);
  EXPECT_THAT(step.results, SizeIs(10));
  EXPECT_THAT(step.sends, IsEmpty());
}

// Fails if: records that are put while their stream is being created fail.
TEST(Pipeline, K4WhatIsPutBeforeTheStreamIsThereIsHeld) {
  Pipeline pipeline = WithoutShards({.aggregator = {.mode = AggregatorOptions::Mode::kSeparately}});
  Instant now = kStart;
  (void)pipeline.Put(Numbered(0), now);
  PipelineStep step = pipeline.Flush(now);
  const AwsFailure missing{.kind = FailureClass::kPermanent, .code = "ResourceNotFoundException"};
  int tries = 0;
  while (now < kStart + seconds(3)) {
    for (const PipelineStep::Send& send : std::vector(step.sends)) {
      ++tries;
      step = pipeline.OnResponse(send.id, tl::unexpected(missing), now);
      EXPECT_THAT(step.results, IsEmpty());
    }
    ASSERT_TRUE(step.wake);
    now = std::max(now, *step.wake);
    step = pipeline.OnWake(now);
  }
  EXPECT_GE(tries, 3);
  EXPECT_EQ(pipeline.pending(), 1U);
}

// Fails if: records and requests that did not reach the service count as sent.
TEST(Pipeline, U9WithoutAConnectionNothingIsSent) {
  Pipeline pipeline = WithoutShards({.aggregator = {.mode = AggregatorOptions::Mode::kSeparately}});
  std::vector<UserRecord> records;
  for (std::uint64_t i = 0; i < 10; ++i) records.push_back(Numbered(i));
  (void)pipeline.PutAll(std::move(records), kStart);
  ASSERT_THAT(pipeline.Flush(kStart).sends, SizeIs(1));
  EXPECT_EQ(pipeline.counts().kinesis_records, 10U);
  const AwsFailure refused{.kind = FailureClass::kPermanent, .code = "connection refused"};
  (void)pipeline.OnResponse(1, tl::unexpected(refused), kStart);
  EXPECT_EQ(pipeline.counts().requests, 0U);
  EXPECT_EQ(pipeline.counts().kinesis_records, 0U);
}

// Fails if: a request whose response was lost counts as not sent.
TEST(Pipeline, U9WhatMayHaveReachedTheServiceCountsAsSent) {
  Pipeline pipeline = WithoutShards({.aggregator = {.mode = AggregatorOptions::Mode::kSeparately}});
  std::vector<UserRecord> records;
  for (std::uint64_t i = 0; i < 10; ++i) records.push_back(Numbered(i));
  (void)pipeline.PutAll(std::move(records), kStart);
  ASSERT_THAT(pipeline.Flush(kStart).sends, SizeIs(1));
  const AwsFailure lost{
      .kind = FailureClass::kAmbiguous, .code = "connection reset", .maybe_applied = true};
  (void)pipeline.OnResponse(1, tl::unexpected(lost), kStart);
  EXPECT_EQ(pipeline.counts().requests, 1U);
  EXPECT_EQ(pipeline.counts().kinesis_records, 10U);
}

TEST(Pipeline, TellsTheRealCauseWhereTimeRunsOut) {
  Trial run(1, {.throttle = 1});
  run.Put("k", "0", seconds(2));
  run.Finish();
  const RecordResult& result = run.ResultOf(0);
  EXPECT_FALSE(result.stored);
  EXPECT_FALSE(result.maybe_duplicate);
  EXPECT_EQ(result.attempts.LastCause()->code, "ProvisionedThroughputExceededException");
  EXPECT_LE(run.now, kStart + seconds(3));
}

TEST(Pipeline, ExpiresWhatWaitsForTheRateOfItsShard) {
  Trial run(1, {},
            {.aggregator = {.mode = AggregatorOptions::Mode::kSeparately},
             .limiter = {.records = PerSecond(10)}});
  run.Advance(seconds(1));
  for (int i = 0; i < 60; ++i) run.Put("k", std::to_string(i), seconds(2));
  run.Finish();
  int stored = 0;
  for (const auto& [number, results] : run.results) {
    stored += results.front().stored ? 1 : 0;
    const std::string& last = results.front().attempts.kept().back()->code;
    EXPECT_EQ(last, results.front().stored ? "" : kExpired);
  }
  EXPECT_EQ(stored, 30 - 1) << "ten at once and ten a second, but for the last, which is too late";
  ExpectHonest(run, 1);
}

TEST(Pipeline, FlushDoesNotWaitForCompanyButForTheRate) {
  Trial run(1, {}, {.limiter = {.records = PerSecond(1)}});
  run.Advance(seconds(1));
  run.Put("k", "0");
  EXPECT_EQ(run.requests, 0);
  EXPECT_THAT(run.pipeline.Flush(run.now).sends, SizeIs(1));
  run.Put("k", "1");
  const PipelineStep held = run.pipeline.Flush(run.now);
  EXPECT_THAT(held.sends, IsEmpty());
  EXPECT_EQ(held.wake, run.now + seconds(1));
}

// Fails if: the records leave when they are due, before the rate of their shard can be applied,
// each key in a Kinesis record of its own.
TEST(Pipeline, WhatIsPutBeforeTheFirstListingWaitsForIt) {
  Pipeline pipeline({.collector = {.linger = nanoseconds(0)}}, 1);
  EXPECT_TRUE(pipeline.OnWake(kStart).list);
  for (std::uint64_t i = 0; i < 10; ++i) {
    UserRecord record = Numbered(i);
    record.partition_key = fmt::format("k{}", i);
    record.hash = HashOfPartitionKey(record.partition_key);
    record.deadline = kStart;
    pipeline.Put(std::move(record), kStart);
  }
  EXPECT_THAT(pipeline.Flush(kStart).sends, IsEmpty());
  const Instant late = kStart + seconds(2);
  EXPECT_THAT(pipeline.OnWake(late).sends, IsEmpty());
  const PipelineStep step = pipeline.OnListed(ShardPage{{{{7}, {0, kMaxHashKey}}}, ""}, late);
  ASSERT_THAT(step.sends, SizeIs(1));
  ASSERT_THAT(*step.sends.front().records, SizeIs(1)) << "together, and at once";
  EXPECT_EQ(step.sends.front().records->front().shard, ShardId{7});
}

TEST(Pipeline, WhatWaitsForTheFirstListingExpires) {
  Pipeline pipeline({}, 1);
  UserRecord soon = Numbered(1);
  soon.expires = kStart + seconds(1);
  pipeline.Put(Numbered(0), kStart);
  EXPECT_EQ(pipeline.Put(std::move(soon), kStart).wake, kStart + seconds(1));
  const PipelineStep step = pipeline.OnWake(kStart + seconds(1));
  ASSERT_THAT(step.results, SizeIs(1));
  EXPECT_EQ(step.results.front().number, 1U);
  EXPECT_EQ(step.results.front().attempts.kept().back()->code, kExpired);
  EXPECT_EQ(step.wake, kStart + seconds(9));
  EXPECT_THAT(pipeline.Close(kStart + seconds(2)).results, SizeIs(1));
}

TEST(Pipeline, HasSoManyRequestsUnderWayAndNotMore) {
  Pipeline pipeline = WithoutShards({.aggregator = {.mode = AggregatorOptions::Mode::kSeparately},
                                     .collector = {.max_count = 1},
                                     .window = {.max_requests = 3}});
  std::size_t sends = 0;
  for (std::uint64_t i = 0; i < 10; ++i) sends += pipeline.Put(Numbered(i), kStart).sends.size();
  EXPECT_EQ(sends, 3U);
  const auto step = pipeline.OnResponse(
      1, std::vector<EntryResponse>{{.shard = "shardId-0", .sequence_number = "1"}}, kStart);
  EXPECT_THAT(step.results, SizeIs(1));
  EXPECT_THAT(step.sends, SizeIs(1));
}

// The records are in all stages: they wait for batching, for the rate, for a connection, for a
// retry or for a response.
TEST(Pipeline, CloseGivesEachRecordItsResultAtOnce) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Trial run(seed,
              {.throttle = 0.2, .fail = 0.1, .lose = 0.1, .fail_list = 0.2, .split_or_merge = 0.1},
              {.aggregator = {.max_bytes = 300},
               .limiter = {.records = PerSecond(60)},
               .collector = {.max_count = 4},
               .window = {.max_requests = 2},
               .ordered = seed % 2 == 0});
    run.PutMany(150);
    run.Close();
    ExpectHonest(run, seed);
    run.Finish();
    ExpectHonest(run, seed);
  }
}

TEST(Pipeline, ManyPutAtOnceAreAsManyPutOneByOne) {
  Pipeline pipeline = WithoutShards({});
  std::vector<UserRecord> records;
  for (std::uint64_t i = 0; i < 10; ++i) records.push_back(Numbered(i));
  EXPECT_THAT(pipeline.PutAll(std::move(records), kStart).sends, IsEmpty());
  EXPECT_EQ(pipeline.pending(), 10U);
  const PipelineStep step = pipeline.Flush(kStart);
  ASSERT_THAT(step.sends, SizeIs(1));
  EXPECT_THAT(step.sends.front().records->front().records, SizeIs(10));
}

// Fails if: a record waits for batching until it expires.
TEST(Pipeline, I14ARecordThatLivesShorterThanItMayWaitIsSent) {
  for (const bool ordered : {false, true}) {
    for (const int ttl : {10, 90, 100}) {
      Trial run(1, {}, {.ordered = ordered});
      run.Advance(seconds(1));
      run.Put("k", "0", milliseconds(ttl));
      run.Finish();
      EXPECT_TRUE(run.ResultOf(0).stored) << ttl << " ms, ordered " << ordered;
    }
  }
}

// Fails if: a retry waits for batching until it expires.
TEST(Pipeline, K16ARetryIsSentBeforeItExpires) {
  for (const bool ordered : {false, true}) {
    Trial run(1, {.throttle = 1}, {.retry_linger = seconds(10), .ordered = ordered});
    run.Put("k", "0", seconds(10));
    run.Advance(milliseconds(400));
    run.stream.Heal();
    run.Finish();
    EXPECT_TRUE(run.ResultOf(0).stored)
        << "ordered " << ordered << " attempts " << run.ResultOf(0).attempts.count();
  }
}

// Fails if: the hold time for rejected credentials begins with a failure of another kind.
TEST(Pipeline, K4TheTimeToHoldBeginsWithTheFirstRejection) {
  Pipeline pipeline = WithoutShards({.aggregator = {.mode = AggregatorOptions::Mode::kSeparately},
                                     .retry = {.hold_time = seconds(3)}});
  UserRecord record = Numbered(0);
  Instant now = kStart;
  (void)pipeline.Put(std::move(record), now);
  PipelineStep step = pipeline.Flush(now);
  bool failed = false;
  while (now < kStart + seconds(8) && !failed) {
    for (const PipelineStep::Send& send : std::vector(step.sends)) {
      const bool outage = now < kStart + seconds(4);
      const AwsFailure failure =
          outage ? AwsFailure{.kind = FailureClass::kTransient, .code = "no connection"}
                 : AwsFailure{.kind = FailureClass::kAuth, .code = "ExpiredTokenException"};
      step = pipeline.OnResponse(send.id, tl::unexpected(failure), now);
      if (!step.results.empty()) failed = true;
      if (!outage) {
        EXPECT_THAT(step.results, IsEmpty()) << "first rejection of its credentials is final";
        return;
      }
    }
    if (!step.wake) break;
    now = std::max(now, *step.wake);
    step = pipeline.OnWake(now);
  }
}

}  // namespace
}  // namespace weir::kinesis
