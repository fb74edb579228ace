#include "weir/dynamodb/streams/shard_reading.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using At = ShardPosition::At;

/// Returns a page with these numbers; `damaged` marks one of them that cannot be parsed.
std::string PageOf(const std::vector<int>& numbers, std::string_view next = "next",
                   int damaged = 0) {
  std::string records;
  for (const int number : numbers) {
    records +=
        fmt::format(R"({}{{"eventName":"{}","dynamodb":{{"Keys":{{}},)"
                    R"("ApproximateCreationDateTime":{},"SequenceNumber":"{}"}}}})",
                    records.empty() ? "" : ",", number == damaged ? "?" : "INSERT", number, number);
  }
  const std::string iterator =
      next.empty() ? "" : fmt::format(R"(,"NextShardIterator":"{}")", next);
  return fmt::format(R"({{"Records":[{}]{}}})", records, iterator);
}

struct OneShard {
  explicit OneShard(ShardPosition from = {}, const ConsumerOptions& its_options = {})
      : options(its_options), reading("shard", std::move(from), options) {}

  Moment Now() const { return {now, wall}; }
  /// Waits for the next request and returns it.
  ConsumerStep::Request Next() {
    EXPECT_TRUE(reading.due());
    now = std::max(now, reading.due().value_or(now));
    return reading.MakeRequest(Now());
  }
  Status Respond(const ShardReading::Response& response) {
    return reading.OnResponse(response, Now(), rng, events);
  }
  Status FailWith(const std::string& code, FailureClass kind = FailureClass::kPermanent) {
    return Respond(tl::unexpected(AwsFailure{.kind = kind, .code = code, .message = code}));
  }
  void Begin() {
    EXPECT_EQ(Next().operation, "GetShardIterator");
    EXPECT_TRUE(Respond(R"({"ShardIterator":"first"})"));
  }
  /// Reads a page and returns the numbers of the batch.
  std::vector<std::string> Read(const std::string& page) {
    EXPECT_EQ(Next().operation, "GetRecords");
    EXPECT_TRUE(Respond(page));
    return Take();
  }
  std::vector<std::string> Take() {
    std::vector<std::string> numbers;
    const auto batch = reading.TakeBatch();
    if (!batch) return numbers;
    if (batch->gap) gaps.push_back(*batch->gap);
    for (const ChangeRecord& record : batch->records) numbers.push_back(record.sequence_number);
    for (const DamagedRecord& record : batch->damaged) damaged.push_back(record.sequence_number);
    return numbers;
  }
  /// Takes the next gap, if there is one.
  std::vector<StreamGap> Gaps() {
    Take();
    return gaps;
  }

  const ConsumerOptions options;
  ShardReading reading;
  Rng rng{1};
  Instant now{5'000'000'000};
  UnixMillis wall{1'000'000};
  std::vector<ConsumerEvent> events;
  std::vector<std::string> damaged;
  std::vector<StreamGap> gaps;
};

TEST(ShardReading, TheNextRequestWaitsForTheCompletion) {
  OneShard shard;
  shard.Begin();
  EXPECT_THAT(shard.Read(PageOf({1, 2})), ElementsAre("1", "2"));
  EXPECT_FALSE(shard.reading.due());
  EXPECT_THAT(shard.Take(), IsEmpty()) << "one batch at a time";
  EXPECT_EQ(shard.reading.position().at, At::kTrimHorizon) << "not completed";
  shard.reading.OnCompleted();
  EXPECT_EQ(shard.reading.position(), (ShardPosition{At::kAfter, "2", UnixMillis{2'000}}));
  const Instant last = shard.now;
  EXPECT_THAT(shard.Next().body, HasSubstr("next"));
  EXPECT_EQ(shard.now, last + milliseconds(250));
}

TEST(ShardReading, APageIsDeliveredInBatches) {
  ConsumerOptions options;
  options.batch_records = 2;
  OneShard shard({}, options);
  shard.Begin();
  EXPECT_THAT(shard.Read(PageOf({1, 2, 3})), ElementsAre("1", "2"));
  shard.reading.OnCompleted();
  EXPECT_FALSE(shard.reading.due()) << "a record is pending";
  EXPECT_THAT(shard.Take(), ElementsAre("3"));
  shard.reading.OnCompleted();
  EXPECT_TRUE(shard.reading.due());
}

TEST(ShardReading, AnEmptyPageIsFollowedByAPause) {
  OneShard shard;
  shard.Begin();
  EXPECT_THAT(shard.Read(PageOf({})), IsEmpty());
  const Instant last = shard.now;
  shard.Next();
  EXPECT_EQ(shard.now, last + seconds(1));
}

TEST(ShardReading, TheShardEndsAfterItsLastBatch) {
  OneShard shard;
  shard.Begin();
  EXPECT_THAT(shard.Read(PageOf({1}, "")), ElementsAre("1"));
  EXPECT_FALSE(shard.reading.is_ended());
  shard.reading.OnCompleted();
  EXPECT_TRUE(shard.reading.is_ended());
  EXPECT_FALSE(shard.reading.due());
}

TEST(ShardReading, AnExpiredIteratorIsReplacedAfterTheLastRecord) {
  OneShard shard;
  shard.Begin();
  shard.Read(PageOf({7}));
  shard.reading.OnCompleted();
  shard.Next();
  EXPECT_TRUE(shard.FailWith("ExpiredIteratorException"));
  EXPECT_THAT(shard.Next().body, HasSubstr(R"("AFTER_SEQUENCE_NUMBER","SequenceNumber":"0000)"));
  EXPECT_THAT(shard.events, IsEmpty());
}

// Fails if: a second iterator at the end is requested.
TEST(ShardReading, AnExpiredIteratorAtTheEndIsReplacedAtTheHorizon) {
  OneShard shard({At::kLatest, {}, UnixMillis{1'000'000}});
  EXPECT_THAT(shard.Next().body, HasSubstr("LATEST"));
  EXPECT_TRUE(shard.Respond(R"({"ShardIterator":"first"})"));
  shard.Next();
  EXPECT_TRUE(shard.FailWith("ExpiredIteratorException"));
  EXPECT_THAT(shard.Next().body, HasSubstr("TRIM_HORIZON"));
}

TEST(ShardReading, ATrimmedPositionIsAGapAndIsResumedAtTheHorizon) {
  OneShard shard({At::kAfter, "5", UnixMillis{500'000}});
  shard.Next();
  EXPECT_TRUE(shard.FailWith("TrimmedDataAccessException"));
  ASSERT_THAT(shard.Gaps(), SizeIs(1));
  const StreamGap gap = shard.Gaps()[0];
  EXPECT_EQ(gap.shard, "shard");
  EXPECT_EQ(gap.last.sequence_number, "5");
  EXPECT_EQ(gap.after, UnixMillis{500'000});
  EXPECT_EQ(gap.before, UnixMillis{1'000'000});
  EXPECT_FALSE(shard.reading.due()) << "the gap is stored first";
  shard.reading.OnCompleted();
  EXPECT_EQ(shard.reading.position().sequence_number, "5") << "a crash now reports it again";
  EXPECT_THAT(shard.Next().body, HasSubstr("TRIM_HORIZON"));
  EXPECT_TRUE(shard.FailWith("TrimmedDataAccessException"));
  EXPECT_THAT(shard.Gaps(), SizeIs(1)) << "the same gap";
}

// Fails if: a listing that is older than the failure counts.
TEST(ShardReading, AMissingShardIsAGapIfItIsNotListed) {
  OneShard shard({At::kAfter, "5"});
  const Instant before = shard.now;
  shard.now = shard.now + seconds(1);
  shard.Next();
  EXPECT_TRUE(shard.FailWith("ResourceNotFoundException"));
  EXPECT_FALSE(shard.reading.due());
  shard.reading.OnListed(false, before, shard.Now(), shard.rng, shard.events);
  EXPECT_TRUE(shard.reading.is_missing());
  shard.reading.OnListed(false, shard.now, shard.Now(), shard.rng, shard.events);
  EXPECT_THAT(shard.Gaps(), SizeIs(1));
  EXPECT_FALSE(shard.reading.is_ended()) << "a crash now reports it again";
  shard.reading.OnCompleted();
  EXPECT_TRUE(shard.reading.is_ended());
}

TEST(ShardReading, AMissingShardThatIsListedIsTriedAgain) {
  OneShard shard({At::kAfter, "5"});
  shard.Next();
  EXPECT_TRUE(shard.FailWith("ResourceNotFoundException"));
  shard.reading.OnListed(true, shard.now, shard.Now(), shard.rng, shard.events);
  EXPECT_EQ(shard.Next().operation, "GetShardIterator");
  EXPECT_THAT(shard.Gaps(), IsEmpty());
}

TEST(ShardReading, ADamagedRecordIsPartOfItsBatch) {
  OneShard shard;
  shard.Begin();
  EXPECT_THAT(shard.Read(PageOf({1, 2, 3}, "next", 2)), ElementsAre("1", "3"));
  EXPECT_THAT(shard.damaged, ElementsAre("2"));
}

// Fails if: the records of a broken page are dropped, or its iterator is used.
TEST(ShardReading, ABrokenPageIsReadAgainAfterItsGoodRecords) {
  OneShard shard;
  shard.Begin();
  std::string page = PageOf({1, 2});
  page.replace(page.find(R"("SequenceNumber":"2")"), 20, R"("SequenceNumber":"x")");
  EXPECT_THAT(shard.Read(page), ElementsAre("1"));
  EXPECT_THAT(shard.events, SizeIs(1));
  shard.reading.OnCompleted();
  EXPECT_THAT(shard.Next().body, HasSubstr(R"("000000000000000000001")"));
}

TEST(ShardReading, FailuresAreRetriedWithPausesAndReportedOnce) {
  OneShard shard;
  shard.Begin();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(shard.Next().operation, "GetRecords");
    EXPECT_TRUE(shard.FailWith("InternalServerError", FailureClass::kAmbiguous));
  }
  EXPECT_THAT(shard.events, SizeIs(1));
  EXPECT_THAT(shard.Read(PageOf({1})), ElementsAre("1"));
}

TEST(ShardReading, ThrottlesAreNotReported) {
  OneShard shard;
  shard.Begin();
  shard.Next();
  EXPECT_TRUE(shard.FailWith("LimitExceededException", FailureClass::kThrottle));
  EXPECT_TRUE(shard.reading.due());
  EXPECT_THAT(shard.events, IsEmpty());
}

TEST(ShardReading, AnInvalidRequestIsAnError) {
  OneShard shard({At::kAfter, "5"});
  shard.Next();
  const Status failed = shard.FailWith("ValidationException");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kInvalidArgument);
}

TEST(ShardReading, AFirstNumberThatIsNoRecordIsReplacedByTheHorizon) {
  OneShard shard({At::kAt, "5"});
  EXPECT_THAT(shard.Next().body, HasSubstr("AT_SEQUENCE_NUMBER"));
  EXPECT_TRUE(shard.FailWith("ValidationException"));
  EXPECT_THAT(shard.Next().body, HasSubstr("TRIM_HORIZON"));
}

// Fails if: records from before the reading was to begin are delivered after a restart.
TEST(ShardReading, OlderRecordsThanTheBeginningAreDroppedAtTheHorizon) {
  OneShard shard({At::kTrimHorizon, {}, UnixMillis{100'000}});
  shard.Begin();
  EXPECT_THAT(shard.Read(PageOf({1, 39})), IsEmpty())
      << "seconds; a minute is the margin of clocks";
  EXPECT_EQ(shard.reading.position(), (ShardPosition{At::kTrimHorizon, {}, UnixMillis{100'000}}))
      << "another reader compares the times too";
  EXPECT_THAT(shard.Read(PageOf({39, 40, 41})), ElementsAre("40", "41"));
}

// Fails if: the clock of this process decides about records that the service says are new.
TEST(ShardReading, NoRecordAfterTheNewestEndIsDropped) {
  OneShard shard({At::kLatest, {}, UnixMillis{100'000'000}});
  EXPECT_EQ(shard.Next().operation, "GetShardIterator");
  EXPECT_TRUE(shard.Respond(R"({"ShardIterator":"first"})"));
  EXPECT_THAT(shard.Read(PageOf({1, 2})), ElementsAre("1", "2"));
}

// Fails if: the records between the beginning and a late iterator at the newest end are skipped.
TEST(ShardReading, ALateReaderOfTheNewestEndReadsFromTheBeginning) {
  OneShard shard({At::kLatest, {}, UnixMillis{989'999}});
  EXPECT_THAT(shard.Next().body, HasSubstr("TRIM_HORIZON"));
  EXPECT_TRUE(shard.Respond(R"({"ShardIterator":"first"})"));
  EXPECT_THAT(shard.Read(PageOf({929, 930, 990})), ElementsAre("930", "990"));
}

TEST(ShardReading, AFirstIteratorThatFailsForLongIsALateOne) {
  OneShard shard({At::kLatest, {}, UnixMillis{995'000}});
  EXPECT_THAT(shard.Next().body, HasSubstr("LATEST"));
  EXPECT_TRUE(shard.FailWith("InternalServerError", FailureClass::kAmbiguous));
  shard.wall = UnixMillis{1'006'000};
  EXPECT_THAT(shard.Next().body, HasSubstr("TRIM_HORIZON"));
}

// Fails if: records are skipped because the time of the beginning is not known.
TEST(ShardReading, ANewestEndOfUnknownTimeIsALateOne) {
  OneShard shard({At::kLatest});
  EXPECT_THAT(shard.Next().body, HasSubstr("TRIM_HORIZON"));
}

}  // namespace
}  // namespace weir::dynamo
