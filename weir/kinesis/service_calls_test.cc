#include "weir/kinesis/service_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include <algorithm>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;

constexpr nanoseconds kTooLate = milliseconds(900);  // after the last expiry

std::vector<KinesisRecord> RecordsExpiring(std::vector<nanoseconds> times) {
  std::vector<KinesisRecord> records(1);
  for (const nanoseconds time : times) {
    records[0].records.push_back({.expires = kStart + time});
  }
  records[0].expires =
      std::ranges::min_element(records[0].records, {}, &UserRecord::expires)->expires;
  return records;
}

TEST(ServiceCalls, ARequestWhoseRecordsLiveLongHasTheUsualDeadline) {
  const Deadline usual = Deadline::At(kStart + seconds(6));
  EXPECT_EQ(PutDeadline(usual, RecordsExpiring({seconds(60)})), usual);
  EXPECT_EQ(PutDeadline(usual, RecordsExpiring({seconds(1), seconds(60)})), usual)
      << "the second record may be retried";
  EXPECT_EQ(PutDeadline(Deadline::Never(), RecordsExpiring({seconds(1)})),
            Deadline::At(kStart + seconds(1) + kTooLate));
}

// Fails if: the records of a request have their results before the reason is known.
TEST(ServiceCalls, ARequestEndsSoonAfterItsRecordsHaveExpired) {
  const Deadline usual = Deadline::At(kStart + seconds(6));
  EXPECT_EQ(PutDeadline(usual, RecordsExpiring({seconds(2), seconds(1)})),
            Deadline::At(kStart + seconds(2) + kTooLate));
}

TEST(ServiceCalls, AResponseThatCannotBeReadMayHaveStoredTheRecords) {
  const PutResponse response = PutResponseOf(WireFormat::kJson, JsonReply{.body = "{"});
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().maybe_applied);
  EXPECT_EQ(response.error().code, "UnreadableAnswer");
}

TEST(ServiceCalls, AFailureIsPassedOn) {
  const AwsFailure failure{.kind = FailureClass::kThrottle, .code = "Slow"};
  EXPECT_EQ(PutResponseOf(WireFormat::kJson, tl::unexpected(failure)).error().code, "Slow");
  EXPECT_FALSE(ShardPageOf(WireFormat::kJson, tl::unexpected(failure)));
}

TEST(ServiceCalls, GoodResponsesAreRead) {
  const PutResponse response =
      PutResponseOf(WireFormat::kJson,
                    JsonReply{.body = R"({"FailedRecordCount":0,"Records":[{"SequenceNumber":"1",)"
                                      R"("ShardId":"shardId-000000000003"}]})"});
  ASSERT_TRUE(response);
  ASSERT_EQ(response->size(), 1U);
  EXPECT_EQ(response->front().shard, "shardId-000000000003");
  const auto page = ShardPageOf(WireFormat::kJson, JsonReply{.body = R"({"Shards":[]})"});
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->shards.empty());
}
}  // namespace
}  // namespace weir::kinesis
