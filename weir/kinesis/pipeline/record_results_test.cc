#include "weir/kinesis/pipeline/record_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

UserRecord CountedRecord(RecordResults& results, std::uint64_t number) {
  results.OnPut();
  return {.number = number, .expires = kStart};
}

Attempts::Shared AttemptWith(std::string code, std::optional<ShardId> shard = std::nullopt) {
  return std::make_shared<const Attempt>(
      Attempt{.began = kStart, .ended = kStart, .shard = shard, .code = std::move(code)});
}

// Fails if: sub_number is set for a record that is not aggregated, or counts reported records
// wrongly.
TEST(RecordResults, AStoredAggregateHasAResultForEachUserRecord) {
  RecordResults results;
  KinesisRecord record;
  for (const std::uint64_t number : {7U, 8U}) {
    record.records.push_back(CountedRecord(results, number));
  }
  EXPECT_EQ(results.pending(), 2U);
  results.AddStored(std::move(record), AttemptWith("", ShardId{3}), "42");
  const std::vector<RecordResult> got = results.TakeResults();
  ASSERT_THAT(got, SizeIs(2));
  EXPECT_TRUE(got[1].stored);
  EXPECT_EQ(got[1].number, 8U);
  EXPECT_EQ(got[1].shard, ShardId{3});
  EXPECT_EQ(got[1].sequence_number, "42");
  EXPECT_EQ(got[0].sub_number, 0U);
  EXPECT_EQ(got[1].sub_number, 1U);
  EXPECT_EQ(got[1].attempts.count(), 1U);
  EXPECT_EQ(results.pending(), 0U);
  EXPECT_THAT(results.TakeResults(), IsEmpty()) << "each result is returned once";
}

TEST(RecordResults, ARecordThatIsNotAggregatedHasNoSubNumber) {
  RecordResults results;
  KinesisRecord record;
  record.records.push_back(CountedRecord(results, 1));
  results.AddStored(std::move(record), AttemptWith("", ShardId{3}), "42");
  EXPECT_EQ(results.TakeResults().front().sub_number, std::nullopt);
}

TEST(RecordResults, AFailedRecordHasTheReason) {
  RecordResults results;
  UserRecord doubtful = CountedRecord(results, 1);
  doubtful.maybe_duplicate = true;
  results.AddFailed(std::move(doubtful));
  results.AddExpired(CountedRecord(results, 2), kStart);
  const std::vector<RecordResult> got = results.TakeResults();
  ASSERT_THAT(got, SizeIs(2));
  EXPECT_FALSE(got[0].stored);
  EXPECT_TRUE(got[0].maybe_duplicate);
  EXPECT_FALSE(got[1].maybe_duplicate);
  ASSERT_THAT(got[1].attempts.kept(), SizeIs(1));
  EXPECT_EQ(got[1].attempts.kept().front()->code, kExpired);
  EXPECT_EQ(results.pending(), 0U);
}

TEST(RecordResults, AnAttemptThatMayHaveStoredThemMakesDuplicatesPossible) {
  for (const bool maybe_stored : {false, true}) {
    RecordResults results;
    std::vector<UserRecord> records;
    records.push_back(CountedRecord(results, 1));
    records.push_back(CountedRecord(results, 2));
    results.AddAllFailed(std::move(records), AttemptWith("Closed"), maybe_stored);
    for (const RecordResult& result : results.TakeResults()) {
      EXPECT_EQ(result.maybe_duplicate, maybe_stored);
      EXPECT_EQ(result.attempts.kept().back()->code, "Closed");
    }
    EXPECT_EQ(results.pending(), 0U);
  }
}

// Fails if: a record that expired in flight has a second result when its request ends.
TEST(RecordResults, AnOverdueRecordHasItsResultOnceAndIsReleasedAtTheEndOfItsRequest) {
  RecordResults results;
  UserRecord stored = CountedRecord(results, 1);
  UserRecord failed = CountedRecord(results, 2);
  for (UserRecord* record : {&stored, &failed}) {
    record->is_reported = true;
    results.AddOverdue(*record, kStart - milliseconds(5), kStart);
  }
  EXPECT_EQ(results.pending(), 0U);
  const std::vector<RecordResult> got = results.TakeResults();
  ASSERT_THAT(got, SizeIs(2));
  EXPECT_TRUE(got[0].is_in_flight);
  EXPECT_TRUE(got[0].maybe_duplicate);
  ASSERT_THAT(got[0].attempts.kept(), SizeIs(2));
  EXPECT_EQ(got[0].attempts.kept()[0]->began, kStart - milliseconds(5));
  EXPECT_EQ(got[0].attempts.kept()[1]->code, kExpired);
  EXPECT_THAT(results.TakeReleased(), IsEmpty());

  KinesisRecord record;
  record.records.push_back(std::move(stored));
  results.AddStored(std::move(record), AttemptWith("", ShardId{3}), "42");
  results.AddFailed(std::move(failed));
  EXPECT_THAT(results.TakeResults(), IsEmpty());
  EXPECT_THAT(results.TakeReleased(), ElementsAre(1, 2));
  EXPECT_EQ(results.pending(), 0U);
}
}  // namespace
}  // namespace weir::kinesis
