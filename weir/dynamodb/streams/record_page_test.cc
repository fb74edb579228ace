#include "weir/dynamodb/streams/record_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Returns a record with these members of its "dynamodb" object.
std::string RecordOf(std::string_view fields, std::string_view event = R"("eventName":"MODIFY")") {
  return fmt::format(R"({{"eventID":"1",{},"dynamodb":{{{}}}}})", event, fields);
}

std::string GoodRecord(int number) {
  return RecordOf(fmt::format(R"("ApproximateCreationDateTime":1,"Keys":{{"PK":{{"S":"a"}}}},)"
                              R"("SequenceNumber":"{}")",
                              number));
}

// The shape of the example in the API reference of GetRecords, with a time as AWS's services
// write it.
constexpr char kAwsPage[] = R"({
  "NextShardIterator":"arn:aws:dynamodb:us-west-2:111122223333:table/Forum/stream/x|1|AAAAAAAAAAE",
  "Records":[{"awsRegion":"us-west-2","dynamodb":{
      "ApproximateCreationDateTime":1.46480646E9,
      "Keys":{"ForumName":{"S":"DynamoDB"},"Subject":{"S":"DynamoDB Thread 1"}},
      "NewImage":{"n":{"N":"1"}},
      "SequenceNumber":"300000000000000499659","SizeBytes":41,"StreamViewType":"NEW_IMAGE"},
    "eventID":"e2fd9c34eff2d779b297b26f5fef4206","eventName":"INSERT",
    "eventSource":"aws:dynamodb","eventVersion":"1.0"}]})";

TEST(RecordPage, ReadsARecordOfAws) {
  const RecordPage page = ReadRecordPage(kAwsPage);
  EXPECT_FALSE(page.broken);
  EXPECT_THAT(page.next_iterator, HasSubstr("|1|AAAAAAAAAAE"));
  ASSERT_EQ(page.records.size(), 1U);
  const Result<ChangeRecord>& change = page.records[0].change;
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(page.records[0].sequence_number, "300000000000000499659");
  EXPECT_GT(page.records[0].bytes, 200U);
  EXPECT_EQ(change->kind, ChangeKind::kInsert);
  EXPECT_EQ(change->created, UnixMillis{1'464'806'460'000});
  EXPECT_EQ(change->sequence_number, "300000000000000499659");
  EXPECT_EQ(*GetText(change->keys, "Subject"), "DynamoDB Thread 1");
  EXPECT_EQ(GetNumber(change->new_image, "n"), 1);
  EXPECT_THAT(change->old_image, IsEmpty());
  EXPECT_FALSE(change->expired);
}

// Recorded from dynoxide 1.2.1.
constexpr char kDynoxideRecord[] =
    R"({"eventID":"4","eventName":"REMOVE","eventVersion":"1.1","eventSource":"aws:dynamodb",)"
    R"("awsRegion":"dynoxide","dynamodb":{"Keys":{"PK":{"S":"a"}},"OldImage":{"PK":{"S":"a"},)"
    R"("n":{"N":"2"}},"SequenceNumber":"4","SizeBytes":46,"StreamViewType":"NEW_AND_OLD_IMAGES",)"
    R"("ApproximateCreationDateTime":1795696395.0}})";

TEST(RecordPage, ReadsARecordOfDynoxide) {
  const auto change = ReadChangeRecord(kDynoxideRecord);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->kind, ChangeKind::kRemove);
  EXPECT_EQ(change->sequence_number, "4");
  EXPECT_EQ(change->created, UnixMillis{1'795'696'395'000});
  EXPECT_EQ(GetNumber(change->old_image, "n"), 2);
  EXPECT_FALSE(change->expired);
}

// DynamoDB Local fills the numbers with zeros.
TEST(RecordPage, NumbersAreNormalized) {
  const auto change =
      ReadChangeRecord(RecordOf(R"("ApproximateCreationDateTime":1,"Keys":{},"SequenceNumber":)"
                                R"("000000000000000001034")"));
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->sequence_number, "1034");
}

TEST(RecordPage, TheTtlServiceIsRecognizedInBothSpellings) {
  const auto expired = [](std::string_view identity) {
    const auto change = ReadChangeRecord(
        RecordOf(R"("ApproximateCreationDateTime":1,"Keys":{},"SequenceNumber":"1")",
                 fmt::format(R"("eventName":"REMOVE","userIdentity":{})", identity)));
    EXPECT_TRUE(change) << change.error().message;
    return change && change->expired;
  };
  EXPECT_TRUE(expired(R"({"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"})"));
  EXPECT_TRUE(expired(R"({"type":"Service","principalId":"dynamodb.amazonaws.com"})"));
  EXPECT_FALSE(expired(R"({"PrincipalId":"replicator.amazonaws.com","Type":"Service"})"));
  EXPECT_FALSE(expired(R"({"PrincipalId":"dynamodb.amazonaws.com","Type":"User"})"));
  EXPECT_FALSE(expired("null"));
}

TEST(RecordPage, TheEndOfAShardHasNoIterator) {
  EXPECT_EQ(ReadRecordPage(R"({"Records":[]})").next_iterator, "");
  EXPECT_FALSE(ReadRecordPage(R"({"Records":[]})").broken);
  EXPECT_EQ(ReadRecordPage(R"({"Records":[],"NextShardIterator":null})").next_iterator, "");
}

struct DamagedField {
  const char* fields;
  const char* event;
  const char* message;
};

// Fails if: the error names no field, or the number is lost because it follows the defect.
TEST(RecordPage, AnErrorNamesTheFieldAndTheNumber) {
  constexpr char kEvent[] = R"("eventName":"MODIFY")";
  const DamagedField damaged[] = {
      {R"("NewImage":{"a":{"Q":"1"}},"SequenceNumber":"77")", kEvent, "NewImage: "},
      {R"("OldImage":7,"SequenceNumber":"77")", kEvent, "OldImage: "},
      {R"("ApproximateCreationDateTime":-1,"SequenceNumber":"77")", kEvent,
       "ApproximateCreationDateTime: "},
      {R"("ApproximateCreationDateTime":1e30,"SequenceNumber":"77")", kEvent,
       "ApproximateCreationDateTime: "},
      {R"("ApproximateCreationDateTime":1,"SequenceNumber":"77")", kEvent, "Keys: missing"},
      {R"("Keys":{},"SequenceNumber":"77")", kEvent, "ApproximateCreationDateTime: missing"},
      {R"("SequenceNumber":"77")", R"("eventName":"UNKNOWN_TO_SDK_VERSION")", "eventName: "},
      {R"("ApproximateCreationDateTime":1,"Keys":{},"SequenceNumber":"77")", R"("x":1)",
       "eventName: missing"},
  };
  for (const auto& [fields, event, message] : damaged) {
    const auto change = ReadChangeRecord(RecordOf(fields, event));
    ASSERT_FALSE(change) << fields;
    EXPECT_EQ(change.error().code, Code::kDataLoss);
    EXPECT_THAT(change.error().message, HasSubstr("stream record 77: ")) << fields;
    EXPECT_THAT(change.error().message, HasSubstr(message)) << fields;
  }
}

TEST(RecordPage, ADamagedRecordIsOneOfItsPage) {
  const std::string bad = RecordOf(R"("Keys":{"PK":{"Q":"a"}},"SequenceNumber":"2")");
  const RecordPage page = ReadRecordPage(fmt::format(
      R"({{"Records":[{},{},{}],"NextShardIterator":"i"}})", GoodRecord(1), bad, GoodRecord(3)));
  EXPECT_FALSE(page.broken);
  ASSERT_EQ(page.records.size(), 3U);
  EXPECT_TRUE(page.records[0].change);
  EXPECT_EQ(page.records[1].sequence_number, "2");
  EXPECT_FALSE(page.records[1].change);
  EXPECT_TRUE(page.records[2].change);
  EXPECT_EQ(page.next_iterator, "i");
}

// Fails if: the time of a record is lost because another field is damaged.
TEST(RecordPage, ADamagedRecordKeepsItsTime) {
  const std::string bad = RecordOf(
      R"("NewImage":{"a":{"Q":"1"}},"SequenceNumber":"2","ApproximateCreationDateTime":77)");
  const std::string timeless =
      RecordOf(R"("ApproximateCreationDateTime":"x","SequenceNumber":"3")");
  const RecordPage page = ReadRecordPage(
      fmt::format(R"({{"Records":[{},{}],"NextShardIterator":"i"}})", bad, timeless));
  ASSERT_EQ(page.records.size(), 2U);
  EXPECT_FALSE(page.records[0].change);
  EXPECT_EQ(page.records[0].created, UnixMillis{77'000});
  EXPECT_EQ(page.records[1].created, std::nullopt);
}

// Fails if: the next iterator of a broken page is used, or the good records are dropped.
TEST(RecordPage, RecordsBeforeADefectAreKept) {
  const RecordPage page = ReadRecordPage(
      fmt::format(R"({{"NextShardIterator":"i","Records":[{},{{"dynamodb":{{}}}},{}]}})",
                  GoodRecord(1), GoodRecord(3)));
  ASSERT_TRUE(page.broken);
  ASSERT_EQ(page.records.size(), 1U);
  EXPECT_THAT(page.broken->message, HasSubstr("after 1: "));
  EXPECT_THAT(page.broken->message, HasSubstr("SequenceNumber"));
  EXPECT_EQ(page.next_iterator, "") << "an iterator would skip the later records";
}

TEST(RecordPage, ACutResponseHasNoIterator) {
  const std::string whole =
      fmt::format(R"({{"NextShardIterator":"i","Records":[{},{}]}})", GoodRecord(1), GoodRecord(2));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const RecordPage page = ReadRecordPage(whole.substr(0, size));
    ASSERT_TRUE(page.broken) << size;
    EXPECT_EQ(page.next_iterator, "");
    EXPECT_LE(page.records.size(), 2U);
  }
}

TEST(RecordPage, AnotherBodyIsBroken) {
  for (const char* body : {"", "{", "[]", "{}", R"({"Records":{}})"}) {
    const RecordPage page = ReadRecordPage(body);
    EXPECT_TRUE(page.broken) << body;
    EXPECT_THAT(page.records, IsEmpty());
  }
}

}  // namespace
}  // namespace weir::dynamo
