#include "weir/kinesis/reader/stream_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>

#include "weir/kinesis/testing/fake_stream_fixture.h"
#include "weir/kinesis/wire/aggregate.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr HashKey kMiddleKey = HashKey(1) << 127;
constexpr HashRange kLowHalf{0, kMiddleKey - 1};
constexpr HashRange kHighHalf{kMiddleKey, std::numeric_limits<HashKey>::max()};

/// Runs a reader in simulated time; each response comes after a millisecond.
struct Session {
  explicit Session(FakeStream& from, const ReaderOptions& options = {}, std::uint64_t seed = 1)
      : stream(from), reader({.name = "s", .arn = {}}, options, seed), rng(seed) {}

  void Take(ReaderStep step) {
    std::ranges::move(step.requests, std::back_inserter(asks));
    for (StreamRecord& record : step.records) {
      data.push_back(record.data);
      records.push_back(std::move(record));
    }
    wake = step.wake;
    done = step.done;
    if (step.error) error = step.error;
    if (step.failing) failing.push_back(*step.failing);
    recoveries += step.recovered ? 1 : 0;
  }
  /// Runs until the reader is done, or nothing happens before `end`.
  void Run(Instant end = Instant{INT64_MAX}) {
    if (!begun) Take(reader.OnWake(now));
    begun = true;
    for (int events = 0; !done && events < 100'000; ++events) {
      if (!asks.empty()) {
        const ReaderStep::Request ask = asks.front();
        asks.pop_front();
        now = now + milliseconds(1);
        Take(reader.OnResponse(ask.id, stream.Respond(ask, now, rng), now));
      } else {
        ASSERT_TRUE(wake) << "it waits for nothing";
        if (*wake > end) return;
        now = std::max(now, *wake);
        Take(reader.OnWake(now));
      }
    }
  }
  void RunFor(nanoseconds time) { Run(now + time); }

  FakeStream& stream;
  StreamReader reader;
  Rng rng;
  Instant now{86'400'000'000'007};
  bool begun = false;
  std::deque<ReaderStep::Request> asks;
  std::optional<Instant> wake;
  bool done = false;
  std::optional<Error> error;
  std::vector<Error> failing;
  int recoveries = 0;
  std::vector<std::string> data;
  std::vector<StreamRecord> records;
};

TEST(StreamReader, ReadsAllThatIsKeptAndEnds) {
  FakeStream stream;
  stream.Put(0, "k", "a");
  stream.Put(0, "k", "b");
  Session session(stream);
  session.Run();
  EXPECT_TRUE(session.done);
  EXPECT_FALSE(session.error);
  EXPECT_THAT(session.data, ElementsAre("a", "b"));
  EXPECT_EQ(session.records[1].partition_key, "k");
  EXPECT_EQ(session.records[1].sequence_number, "101");
  EXPECT_EQ(session.records[1].shard, ShardId{0});
}

TEST(StreamReader, AnEmptyStreamIsReadToItsEndToo) {
  FakeStream stream;
  stream.shards[0];
  Session session(stream);
  session.Run();
  EXPECT_TRUE(session.done);
  EXPECT_THAT(session.data, IsEmpty());
}

// Here children have higher numbers than their parents, so that the order is visible.
void Reshard(FakeStream& stream) {
  stream.shards_of_page = 2;
  stream.Put(0, "k", "old");
  stream.AddChild(1, {0}, kLowHalf);
  stream.AddChild(2, {0}, kHighHalf);
  stream.Put(1, "k", "low");
  stream.Put(2, "k", "high");
  stream.AddChild(3, {1, 2});
  stream.Put(3, "k", "new");
}

TEST(StreamReader, ParentsComeBeforeTheirChildren) {
  FakeStream stream;
  Reshard(stream);
  Session session(stream);
  session.Run();
  EXPECT_TRUE(session.done);
  ASSERT_EQ(session.data.size(), 4U);
  EXPECT_EQ(session.data.front(), "old");
  EXPECT_EQ(session.data.back(), "new");
}

TEST(StreamReader, AParentThatIsForgottenHoldsNobodyUp) {
  FakeStream stream;
  stream.shards.erase(3);
  stream.Put(7, "k", "new");
  Session session(stream);
  session.Run();
  EXPECT_THAT(session.data, ElementsAre("new"));
}

TEST(StreamReader, LatestBeginsNowAndFollowsSplitsAndMerges) {
  for (const bool tells_children : {true, false}) {
    FakeStream stream;
    stream.tells_children = tells_children;
    stream.Put(0, "k", "before");
    Session session(stream, {.from = {Position::At::kLatest}, .follow = true});
    session.RunFor(seconds(3));
    EXPECT_THAT(session.data, IsEmpty());
    stream.Put(0, "k", "last of the parent");
    stream.AddChild(1, {0}, kLowHalf);
    stream.AddChild(2, {0}, kHighHalf);
    stream.Put(2, "k", "first of a child");
    session.RunFor(seconds(5));
    EXPECT_THAT(session.data, ElementsAre("last of the parent", "first of a child"));
    stream.AddChild(3, {1, 2});
    stream.Put(3, "k", "merged");
    session.RunFor(seconds(5));
    EXPECT_EQ(session.data.back(), "merged");
    EXPECT_FALSE(session.done);
  }
}

TEST(StreamReader, LatestReadsNoShardThatWasClosedBefore) {
  FakeStream stream;
  Reshard(stream);
  Session session(stream, {.from = {Position::At::kLatest}, .follow = true});
  session.RunFor(seconds(3));
  stream.Put(3, "k", "now");
  session.RunFor(seconds(3));
  EXPECT_THAT(session.data, ElementsAre("now"));
  EXPECT_THAT(stream.shards[0].reads, IsEmpty());
}

TEST(StreamReader, FollowsFromTheBeginning) {
  FakeStream stream;
  stream.Put(0, "k", "before");
  Session session(stream, {.follow = true});
  session.RunFor(seconds(3));
  EXPECT_THAT(session.data, ElementsAre("before"));
  stream.Put(0, "k", "after");
  stream.AddChild(1, {0});
  stream.Put(1, "k", "in a child");
  session.RunFor(seconds(5));
  EXPECT_THAT(session.data, ElementsAre("before", "after", "in a child"));
  EXPECT_FALSE(session.done);
}

TEST(StreamReader, BeginsEachShardAtATime) {
  FakeStream stream;
  stream.Put(0, "k", "closed, early", 4'999);
  stream.Put(0, "k", "closed, late", 5'000);
  stream.AddChild(1, {0}, kLowHalf);
  stream.AddChild(2, {0}, kHighHalf);
  stream.Put(1, "k", "low", 6'000);
  Session session(stream, {.from = {.at = Position::At::kTime, .time = {5'000}}});
  session.Run();
  EXPECT_THAT(session.data, ElementsAre("closed, late", "low"));
  EXPECT_TRUE(session.done);
}

// A child that is found later has no records from before the end of its parent, so it is read from
// its beginning.
TEST(StreamReader, AChildThatIsFoundLaterIsReadFromItsBeginning) {
  FakeStream stream;
  stream.Put(0, "k", "early", 1);
  Session session(stream, {.from = {.at = Position::At::kTime, .time = {5'000}}, .follow = true});
  session.RunFor(seconds(3));
  stream.AddChild(1, {0});
  stream.Put(1, "k", "by a service whose clock is behind", 4'000);
  session.RunFor(seconds(5));
  EXPECT_THAT(session.data, ElementsAre("by a service whose clock is behind"));
}

TEST(StreamReader, ReadsOneShardAloneFromASequenceNumber) {
  FakeStream stream;
  Reshard(stream);
  for (const char* data : {"1", "2", "3"}) stream.Put(2, "k", data);
  const std::string second = stream.shards[2].records[2].sequence_number;
  Session session(stream, {.from = {Position::At::kAt, second}, .only = ShardId{2}});
  session.Run();
  EXPECT_THAT(session.data, ElementsAre("2", "3"));
  EXPECT_TRUE(session.done);
  EXPECT_THAT(stream.shards[3].reads, IsEmpty());
}

TEST(StreamReader, AnOnlyShardThatIsClosedEndsAlsoWhatFollows) {
  for (const Position::At at : {Position::At::kTrimHorizon, Position::At::kLatest}) {
    FakeStream stream;
    Reshard(stream);
    Session session(stream, {.from = {at}, .follow = true, .only = ShardId{1}});
    session.RunFor(seconds(9));
    EXPECT_TRUE(session.done);
    EXPECT_FALSE(session.error);
    EXPECT_EQ(session.data.size(), at == Position::At::kLatest ? 0U : 1U);
  }
}

TEST(StreamReader, AnOnlyShardThatDoesNotExistIsAnError) {
  FakeStream stream;
  Reshard(stream);
  Session session(stream, {.only = ShardId{9}});
  session.Run();
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->code, Code::kNotFound);
  EXPECT_THAT(session.error->message, HasSubstr("shardId-000000000009"));
}

TEST(StreamReader, AMergeOfAShardThatWasReadToItsEndIsReadOnThere) {
  FakeStream stream;
  stream.shards[0].range = kLowHalf;
  stream.shards[1].range = kHighHalf;
  stream.Put(1, "k", "a");
  stream.Put(1, "k", "b");
  stream.Put(1, "k", "c");
  Session session(stream, {.page_records = 2});
  session.RunFor(milliseconds(100));
  stream.Put(0, "k", "late");
  stream.AddChild(2, {0, 1});
  stream.Put(2, "k", "new");
  session.Run();
  EXPECT_THAT(session.data, testing::UnorderedElementsAre("a", "b", "c", "late", "new"));
  EXPECT_EQ(session.data.back(), "new");
}

TEST(StreamReader, WhatIsAggregatedComesApart) {
  AggregateWriter writer;
  writer.Add({"k1", {}, "a"});
  writer.Add({"k2", {}, "b"});
  FakeStream stream;
  stream.Put(0, "a", writer.Take());
  Session session(stream);
  session.Run();
  EXPECT_THAT(session.data, ElementsAre("a", "b"));
  EXPECT_EQ(session.records[1].partition_key, "k2");
  EXPECT_EQ(session.records[1].sub_sequence_number, 1U);
  EXPECT_EQ(session.records[1].sequence_number, "100");
}

TEST(StreamReader, AnAggregateThatReachesBeyondItsShardIsDroppedAndCounted) {
  AggregateWriter writer;
  writer.Add({"k", "0", "low"});
  writer.Add({"k", FormatHashKey(kMiddleKey), "high"});
  FakeStream stream;
  stream.shards[0].range = kLowHalf;
  stream.shards[1].range = kHighHalf;
  stream.Put(0, "a", writer.Take());
  Session session(stream);
  session.Run();
  EXPECT_THAT(session.data, IsEmpty());
  EXPECT_EQ(session.reader.stats().dropped, 1U);
}

TEST(StreamReader, AShardIsReadFiveTimesASecondAtMost) {
  FakeStream stream;
  for (int i = 0; i < 50; ++i) stream.Put(0, "k", std::to_string(i));
  Session session(stream, {.page_records = 3});
  session.Run();
  EXPECT_EQ(session.data.size(), 50U);
  const std::vector<Instant>& reads = stream.shards[0].reads;
  for (std::size_t i = 5; i < reads.size(); ++i) EXPECT_GE(reads[i] - reads[i - 5], seconds(1));
}

TEST(StreamReader, WhatCannotGoBetterEndsIt) {
  FakeStream stream;
  Session session(stream);
  ReaderStep first = session.reader.OnWake(session.now);
  ASSERT_EQ(first.requests.size(), 1U);
  AwsFailure failure;
  failure.code = "ResourceNotFoundException";
  failure.message = "no stream s";
  const ReaderStep step =
      session.reader.OnResponse(first.requests[0].id, tl::unexpected(failure), session.now);
  EXPECT_TRUE(step.done);
  ASSERT_TRUE(step.error);
  EXPECT_EQ(step.error->code, Code::kNotFound);
}

// Fails if: a stream that was deleted and created again counts as read to its end, or is listed for
// ever.
TEST(StreamReader, AnOpenShardThatTheServiceDoesNotKnowIsAnError) {
  for (const bool follow : {false, true}) {
    for (const std::optional<ShardId> only :
         {std::optional<ShardId>(), std::optional(ShardId{0})}) {
      FakeStream stream;
      stream.Put(0, "k", "a");
      stream.missing = {0};
      Session session(stream, {.follow = follow, .only = only});
      session.RunFor(seconds(30));
      ASSERT_TRUE(session.error) << follow << only.has_value();
      EXPECT_EQ(session.error->code, Code::kNotFound);
      EXPECT_THAT(session.error->message, HasSubstr("shardId-000000000000 is listed"));
    }
  }
}

// Fails if: the deletion of the stream is treated as the end of its only shard.
TEST(StreamReader, AStreamThatIsDeletedIsAnErrorForOneShardToo) {
  FakeStream stream;
  stream.Put(0, "k", "a");
  Session session(stream, {.follow = true, .only = ShardId{0}});
  session.RunFor(seconds(3));
  EXPECT_THAT(session.data, ElementsAre("a"));
  stream.is_deleted = true;
  session.RunFor(seconds(30));
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->code, Code::kNotFound);
}

// The case of a process that was stopped for minutes. Fails if: the reader begins again at the end
// of the stream, so that records that arrived meanwhile are lost without an error.
TEST(StreamReader, APositionAtTheEndThatExpiresIsAnError) {
  FakeStream stream;
  stream.shards[0];
  Session session(stream, {.from = {Position::At::kLatest}, .follow = true});
  session.RunFor(seconds(3));
  stream.Put(0, "k", "missed");
  stream.is_expired = true;
  session.RunFor(seconds(3));
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->code, Code::kDataLoss);
}

// Fails if: expired iterators do not count as failures, so that the reading continues without end.
TEST(StreamReader, IteratorsThatExpireAtOnceEndTheReading) {
  FakeStream stream;
  stream.Put(0, "k", "a");
  stream.is_expired = true;
  Session session(stream);
  session.RunFor(std::chrono::hours(1));
  EXPECT_TRUE(session.done);
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->code, Code::kUnavailable);
  EXPECT_THAT(session.error->message, HasSubstr("ExpiredIteratorException"));
  EXPECT_EQ(stream.shards[0].reads.size(), 7U);
}

// Fails if: an outage of expired iterators is not reported, or its retries do not back off.
TEST(StreamReader, OneThatFollowsReportsIteratorsThatExpireAtOnce) {
  FakeStream stream;
  stream.Put(0, "k", "a");
  stream.is_expired = true;
  Session session(stream, {.follow = true, .max_tries = 0});
  session.RunFor(std::chrono::hours(1));
  EXPECT_FALSE(session.done);
  ASSERT_EQ(session.failing.size(), 1U);
  EXPECT_EQ(session.failing[0].code, Code::kUnavailable);
  EXPECT_LT(stream.shards[0].reads.size(), 1500U) << "a mean of 5 s apart";
  stream.is_expired = false;
  session.RunFor(seconds(15));
  EXPECT_THAT(session.data, ElementsAre("a"));
  EXPECT_EQ(session.recoveries, 1);
}

// The case of a process that was stopped for minutes, again and again. Fails if: one expired
// iterator is reported, or a page does not end the series of expiries.
TEST(StreamReader, AnIteratorThatExpiresOnceIsReplacedSilently) {
  FakeStream stream;
  Session session(stream, {.follow = true, .max_tries = 2});
  for (const char* data : {"a", "b", "c"}) {
    stream.Put(0, "k", data);
    session.RunFor(seconds(3));
    stream.is_expired = true;
    session.Run(session.wake.value());
    stream.is_expired = false;
  }
  session.RunFor(seconds(3));
  EXPECT_FALSE(session.error);
  EXPECT_THAT(session.failing, IsEmpty());
  EXPECT_EQ(session.recoveries, 0);
  EXPECT_THAT(session.data, ElementsAre("a", "b", "c"));
}

TEST(StreamReader, AServiceThatOnlyFailsIsGivenUp) {
  FakeStream stream;
  stream.shards[0];
  stream.faults = 1;
  Session session(stream, {.max_tries = 3});
  session.Run();
  EXPECT_TRUE(session.done);
  EXPECT_TRUE(session.error);
}

// Fails if: a listing without shards counts as a stream that was read to its end.
TEST(StreamReader, AStreamWithoutShardsIsAnError) {
  FakeStream stream;
  Session session(stream, {.max_tries = 3});
  session.Run();
  EXPECT_TRUE(session.done);
  ASSERT_TRUE(session.error);
  EXPECT_THAT(session.error->message, HasSubstr("it lists no shard"));
  EXPECT_EQ(stream.listings, 3);
}

void PutHalves(FakeStream& stream) {
  stream.shards[0].range = kLowHalf;
  stream.shards[1].range = kHighHalf;
  stream.Put(0, "k", "low");
  stream.Put(1, "k", "high");
}

// Fails if: a shard that the first listing leaves out is never read, and the reading ends with
// success.
TEST(StreamReader, AShardThatAListingLeavesOutIsReadAllTheSame) {
  for (const bool follow : {false, true}) {
    for (const std::uint64_t left_out : {0U, 1U}) {
      FakeStream stream;
      PutHalves(stream);
      stream.left_out = {left_out};
      stream.incomplete_listings = 1;
      Session session(stream, {.follow = follow});
      session.RunFor(seconds(60));
      EXPECT_FALSE(session.error);
      EXPECT_EQ(session.done, !follow);
      EXPECT_THAT(session.data, testing::UnorderedElementsAre("low", "high"));
      ASSERT_EQ(session.failing.size(), 1U);
      EXPECT_THAT(session.failing[0].message, HasSubstr("leave out hash keys"));
      EXPECT_EQ(session.recoveries, 1);
    }
  }
}

// Fails if: the children of a closed shard are not read because the listings that must show them
// leave them out.
TEST(StreamReader, ChildrenThatAListingLeavesOutAreReadAllTheSame) {
  for (const bool follow : {false, true}) {
    FakeStream stream;
    stream.tells_children = false;
    PutHalves(stream);
    Session session(stream, {.follow = follow});
    if (follow) session.RunFor(seconds(5));
    stream.AddChild(2, {0}, kLowHalf);
    stream.Put(2, "k", "child");
    stream.left_out = {2};
    stream.incomplete_listings = 2;
    session.RunFor(seconds(60));
    EXPECT_FALSE(session.error);
    EXPECT_THAT(session.data, testing::UnorderedElementsAre("low", "high", "child"));
  }
}

// Fails if: a page of a listing ends the failures of whole listings, so that they are repeated
// without end.
TEST(StreamReader, ListingsThatAlwaysLeaveAShardOutAreAnError) {
  FakeStream stream;
  PutHalves(stream);
  stream.shards[0].closed = true;
  stream.shards_of_page = 1;
  Session session(stream, {.max_tries = 3});
  session.RunFor(std::chrono::hours(1));
  EXPECT_TRUE(session.done);
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->code, Code::kUnavailable);
  EXPECT_THAT(session.error->message, HasSubstr("leave out hash keys"));
  EXPECT_EQ(stream.listings, 3);
  EXPECT_THAT(session.data, IsEmpty());
}

// Fails if: the only requested shard counts as one that does not exist because one listing leaves
// it out; keys that other shards have are needed to read it.
TEST(StreamReader, AnOnlyShardNeedsNoOtherShardInTheListing) {
  for (const std::uint64_t left_out : {0U, 1U}) {
    FakeStream stream;
    PutHalves(stream);
    stream.left_out = {left_out};
    stream.incomplete_listings = 1;
    Session session(stream, {.only = ShardId{0}});
    session.RunFor(seconds(60));
    EXPECT_FALSE(session.error);
    EXPECT_TRUE(session.done);
    EXPECT_THAT(session.data, ElementsAre("low"));
    EXPECT_EQ(stream.listings, left_out == 0 ? 2 : 1);
  }
}

// Fails if: an open shard whose end was reported wrongly counts as deleted because the listing that
// decides leaves it out.
TEST(StreamReader, AnOpenShardWhoseEndIsReportedAndThatIsNotListedOnceIsReadOn) {
  for (const std::optional<ShardId> only : {std::optional<ShardId>(), std::optional(ShardId{0})}) {
    FakeStream stream;
    PutHalves(stream);
    Session session(stream, {.follow = true, .only = only});
    session.RunFor(seconds(5));
    stream.left_out = {0};
    stream.incomplete_listings = 1;
    stream.early_ends = only ? 1 : 2;
    session.RunFor(seconds(60));
    stream.Put(0, "k", "later");
    session.RunFor(seconds(60));
    EXPECT_FALSE(session.error);
    EXPECT_FALSE(session.done);
    EXPECT_EQ(session.data.back(), "later");
    EXPECT_EQ(stream.incomplete_listings, 0);
  }
}

// Fails if: a response without a next iterator ends a shard that is listed as open; a record is
// returned twice, or is skipped; the failure is not reported, or counts after it has passed.
TEST(StreamReader, AnOpenShardWhoseEndIsReportedIsReadOn) {
  for (const Position::At at : {Position::At::kTrimHorizon, Position::At::kLatest}) {
    for (const std::optional<ShardId> only :
         {std::optional<ShardId>(), std::optional(ShardId{0})}) {
      FakeStream stream;
      if (at == Position::At::kLatest) stream.Put(0, "k", "before");
      stream.shards[0];
      Session session(
          stream, {.from = {at}, .follow = true, .only = only, .page_records = 1, .max_tries = 2});
      session.RunFor(seconds(3));
      for (const char* data : {"a", "b", "c"}) {
        stream.early_ends = 1;
        if (*data == 'a') session.RunFor(seconds(5));
        stream.Put(0, "k", data);
        session.RunFor(seconds(5));
      }
      ASSERT_FALSE(session.error) << session.error->message;
      EXPECT_FALSE(session.done);
      EXPECT_THAT(session.data, ElementsAre("a", "b", "c"));
      ASSERT_EQ(session.failing.size(), 3U);
      EXPECT_EQ(session.recoveries, 3);
      EXPECT_THAT(session.failing[0].message, HasSubstr("shardId-000000000000 is listed as open"));
    }
  }
}

TEST(StreamReader, AnOpenShardIsReadToItsEndAlsoIfAnEarlierOneIsReported) {
  FakeStream stream;
  for (const char* data : {"a", "b", "c"}) stream.Put(0, "k", data);
  stream.early_ends = 2;
  Session session(stream, {.page_records = 1});
  session.Run();
  EXPECT_FALSE(session.error);
  EXPECT_THAT(session.data, ElementsAre("a", "b", "c"));
}

// Fails if: a shard is read without end, or its failures begin again with each response.
TEST(StreamReader, AnOpenShardThatOnlyEndsIsAnError) {
  FakeStream stream;
  stream.shards[0];
  stream.early_ends = 1'000;
  Session session(stream, {.max_tries = 4});
  session.Run();
  ASSERT_TRUE(session.error);
  EXPECT_THAT(session.error->message, HasSubstr("no NextShardIterator"));
  EXPECT_EQ(stream.shards[0].reads.size(), 4U);
}

// Fails if: the end of a shard that was closed after it was listed is reported as a failure.
TEST(StreamReader, AShardThatIsClosedWhileItIsReadIsNoFailure) {
  for (const std::optional<ShardId> only : {std::optional<ShardId>(), std::optional(ShardId{0})}) {
    FakeStream stream;
    stream.tells_children = false;
    stream.Put(0, "k", "a");
    Session session(stream, {.follow = true, .only = only});
    session.RunFor(seconds(3));
    stream.AddChild(1, {0});
    session.RunFor(seconds(5));
    EXPECT_FALSE(session.error);
    EXPECT_EQ(session.done, only.has_value());
    EXPECT_THAT(session.failing, IsEmpty());
    EXPECT_EQ(stream.shards[1].reads.empty(), only.has_value());
  }
}

// Fails if: a listing whose pages never end continues without end.
TEST(StreamReader, I14AListingOfTooManyPagesIsAnError) {
  FakeStream stream;
  stream.shards[0];
  stream.pages_end = false;
  Session session(stream);
  session.Run();
  EXPECT_TRUE(session.done);
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->code, Code::kResourceExhausted);
  EXPECT_THAT(session.error->message, HasSubstr("more than 1000 pages"));
}

// Fails if: the pages of all listings that leave out hash keys count as those of one.
TEST(StreamReader, I14ManyIncompleteListingsAreNoLongListing) {
  FakeStream stream;
  stream.shards[0].closed = true;
  Session session(stream, {.follow = true, .max_tries = 0});
  session.RunFor(std::chrono::hours(5));
  EXPECT_GT(stream.listings, 1000);
  EXPECT_FALSE(session.done);
}

// Fails if: the number of failures ends a reading with `follow`.
TEST(StreamReader, OneThatFollowsOutlastsAnyNumberOfFailuresAndReportsThemOnce) {
  FakeStream stream;
  stream.Put(0, "k", "a");
  Session session(stream, {.follow = true, .max_tries = 0});
  session.RunFor(seconds(5));
  stream.faults = 1;
  stream.expires = false;
  session.RunFor(seconds(3600));
  EXPECT_FALSE(session.done);
  ASSERT_EQ(session.failing.size(), 1U);
  EXPECT_EQ(session.failing[0].code, Code::kUnavailable);
  EXPECT_EQ(session.recoveries, 0);
  EXPECT_GT(stream.shards[0].reads.size(), 360U) << "retried every 10 s or more often";
  stream.Put(0, "k", "b");
  stream.faults = 0;
  session.RunFor(seconds(15));
  EXPECT_THAT(session.data, ElementsAre("a", "b"));
  EXPECT_EQ(session.failing.size(), 1U);
  EXPECT_EQ(session.recoveries, 1);
  stream.faults = 1;
  session.RunFor(seconds(60));
  EXPECT_EQ(session.failing.size(), 2U);
}

// Fails if: a failure that no retry can change is retried because of `follow`.
TEST(StreamReader, OneThatFollowsEndsAtOnceIfTheRequestCannotSucceed) {
  FakeStream stream;
  stream.shards[0];
  Session session(stream, {.follow = true, .max_tries = 0});
  session.RunFor(seconds(5));
  stream.denies = true;
  session.RunFor(seconds(5));
  EXPECT_TRUE(session.done);
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->code, Code::kUnauthenticated);
  EXPECT_EQ(session.failing.size(), 0U);
}

/// A stream that is written and resharded at random, by splits of a shard and merges of neighbours.
struct Growing {
  explicit Growing(std::uint64_t seed) : rng(seed) {
    stream.tells_children = rng.Chance(0.5);
    stream.shards_of_page = 1 + rng.Below(4);
    stream.faults = rng.Chance(0.7) ? 0.3 : 0;
    stream.shards[0];
  }
  ReaderOptions Options() {
    return {.page_records = 1 + rng.Below(3), .max_in_flight = 1 + rng.Below(4), .max_tries = 50};
  }
  void Write() {
    for (const std::uint64_t shard : open) {
      for (auto i = rng.Below(4); i > 0; --i) stream.Put(shard, "k", std::to_string(shard));
    }
  }
  void Reshard() {
    const std::size_t at = rng.Below(open.size());
    const std::uint64_t parent = open[at];
    if (at + 1 < open.size() && rng.Chance(0.5)) {
      stream.AddChild(next, {parent, open[at + 1]});
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
      open[at] = next++;
    } else {
      stream.AddChild(next, {parent});
      stream.AddChild(next + 1, {parent});
      open[at] = next++;
      open.push_back(next++);
    }
  }

  Rng rng;
  FakeStream stream;
  std::vector<std::uint64_t> open = {0};
  std::uint64_t next = 1;
};

void ExpectAll(const FakeStream& stream, const Session& session) {
  RC_ASSERT(session.error.value_or(Error{}).message == "");
  std::map<std::uint64_t, std::size_t> taken;
  for (const StreamRecord& record : session.records) {
    const FakeShard& shard = stream.shards.at(record.shard.number);
    for (const std::uint64_t parent : shard.parents) {
      RC_ASSERT(taken[parent] == stream.shards.at(parent).records.size());
    }
    RC_ASSERT(record.sequence_number ==
              shard.records.at(taken[record.shard.number]++).sequence_number);
  }
  for (const auto& [number, shard] : stream.shards) {
    RC_ASSERT(taken[number] == shard.records.size());
    for (std::size_t i = 5; i < shard.reads.size(); ++i) {
      RC_ASSERT(shard.reads[i] - shard.reads[i - 5] >= seconds(1));
    }
  }
}

// Fails if: a child is read before its last parent was read to its end; a shard that was begun
// again begins at its first record; a failed request is repeated at once.
RC_GTEST_PROP(StreamReaderProperty, EachRecordComesOnceAfterThoseOfItsParents,
              (std::uint64_t seed)) {
  Growing growing(seed);
  for (int step = 0; step < 8; ++step) {
    growing.Write();
    growing.Reshard();
  }
  Session session(growing.stream, growing.Options(), seed);
  session.Run();
  RC_ASSERT(session.done);
  ExpectAll(growing.stream, session);
}

// Fails if: no listing follows the end of a shard without children; a child that is found later is
// read from its end.
RC_GTEST_PROP(StreamReaderProperty, WhatFollowsAStreamMissesNothing, (std::uint64_t seed)) {
  Growing growing(seed);
  growing.stream.expires = false;
  ReaderOptions options = growing.Options();
  options.from.at = Position::At::kLatest;
  options.follow = true;
  Session session(growing.stream, options, seed);
  session.RunFor(seconds(60));
  for (int step = 0; step < 8; ++step) {
    growing.Write();
    session.RunFor(milliseconds(growing.rng.Between(0, 3000)));
    growing.Reshard();
  }
  growing.Write();
  session.RunFor(std::chrono::minutes(10));
  ExpectAll(growing.stream, session);
}

}  // namespace
}  // namespace weir::kinesis
