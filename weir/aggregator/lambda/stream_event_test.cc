#include "weir/aggregator/lambda/stream_event.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

using testing::HasSubstr;

// The shape of the example in the developer guide of AWS Lambda, with the time of the TTL service.
constexpr char kEventOfAws[] = R"({"Records":[
  {"eventID":"c4ca4238a0b923820dcc509a6f75849b","eventName":"INSERT","eventVersion":"1.1",
   "eventSource":"aws:dynamodb","awsRegion":"us-east-1","dynamodb":{
     "ApproximateCreationDateTime":1479499740.5,"Keys":{"Id":{"N":"101"}},
     "NewImage":{"Message":{"S":"New item!"},"Id":{"N":"101"}},
     "SequenceNumber":"000000000004421584500000000017450439091","SizeBytes":26,
     "StreamViewType":"NEW_AND_OLD_IMAGES"},
   "eventSourceARN":"arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/2026"},
  {"eventID":"c81e728d9d4c2f636f067f89cc14862c","eventName":"REMOVE","eventVersion":"1.1",
   "userIdentity":{"principalId":"dynamodb.amazonaws.com","type":"Service"},
   "eventSource":"aws:dynamodb","awsRegion":"us-east-1","dynamodb":{
     "ApproximateCreationDateTime":1479499741,"Keys":{"Id":{"N":"101"}},
     "OldImage":{"Id":{"N":"101"}},"SequenceNumber":"4421584500000000017450439092",
     "SizeBytes":59,"StreamViewType":"NEW_AND_OLD_IMAGES"},
   "eventSourceARN":"arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/2026"}]})";

std::string EventRecord(std::string_view fields) {
  return fmt::format(R"({{"eventName":"MODIFY","dynamodb":{{{}}}}})", fields);
}
std::string GoodEventRecord(int number) {
  return EventRecord(
      fmt::format(R"("ApproximateCreationDateTime":1,"Keys":{{}},"SequenceNumber":"{}")", number));
}
std::string EventOf(std::string_view records) {
  return fmt::format(R"({{"Records":[{}]}})", records);
}

TEST(StreamEvent, ReadsAnEventOfAws) {
  const Result<StreamEvent> event = ReadStreamEvent(kEventOfAws);
  ASSERT_TRUE(event) << event.error().message;
  ASSERT_EQ(event->records.size(), 2U);
  EXPECT_FALSE(event->unreadable);
  EXPECT_EQ(event->records[0].kind, ChangeKind::kInsert);
  EXPECT_EQ(event->records[0].created, UnixMillis{1'479'499'740'500});
  EXPECT_EQ(event->records[0].sequence_number, "4421584500000000017450439091");
  EXPECT_EQ(GetNumber(event->records[0].new_image, "Id"), 101);
  EXPECT_TRUE(event->records[1].expired);
}

// Fails if: the response has the number without its zeros, which Lambda would not find.
TEST(StreamEvent, ASequenceNumberIsReportedAsItIsInTheEvent) {
  EXPECT_EQ(SequenceNumberIn(kEventOfAws, 0), "000000000004421584500000000017450439091");
  EXPECT_EQ(SequenceNumberIn(kEventOfAws, 1), "4421584500000000017450439092");
  EXPECT_EQ(SequenceNumberIn(kEventOfAws, 2), "");
  EXPECT_EQ(SequenceNumberIn("no event", 0), "");
}

// Fails if: a record after one that cannot be read is applied, and then delivered again.
TEST(StreamEvent, EndsAtTheFirstRecordThatCannotBeRead) {
  const Result<StreamEvent> event =
      ReadStreamEvent(EventOf(GoodEventRecord(1) + "," + EventRecord(R"("SequenceNumber":"2")") +
                              "," + GoodEventRecord(3)));
  ASSERT_TRUE(event) << event.error().message;
  ASSERT_EQ(event->records.size(), 1U);
  ASSERT_TRUE(event->unreadable);
  EXPECT_THAT(event->unreadable->message, HasSubstr("stream record 2: dynamodb: Keys: missing"));
}

TEST(StreamEvent, ARecordWithoutANumberIsAnError) {
  const Result<StreamEvent> event =
      ReadStreamEvent(EventOf(GoodEventRecord(1) + "," + EventRecord(R"("Keys":{})")));
  ASSERT_FALSE(event);
  EXPECT_THAT(event.error().message, HasSubstr("without a sequence number"));
}

TEST(StreamEvent, RefusesOtherTexts) {
  for (const char* text : {"", "[]", "{}", R"({"key":"a test event"})", R"({"Records":[)",
                           R"({"Records":[{"body":"of a queue"}]})", R"({"Records":5})"}) {
    const Result<StreamEvent> event = ReadStreamEvent(text);
    ASSERT_FALSE(event) << text;
    EXPECT_EQ(event.error().code, Code::kDataLoss) << text;
    EXPECT_THAT(event.error().message, HasSubstr("event of a table's stream")) << text;
  }
}

TEST(StreamEvent, AnEventMayHaveNoRecords) {
  const Result<StreamEvent> event = ReadStreamEvent(EventOf(""));
  ASSERT_TRUE(event);
  EXPECT_TRUE(event->records.empty());
}

TEST(StreamEvent, DeepNestingIsARecordThatCannotBeRead) {
  const std::string deep(100'000, '[');
  const Result<StreamEvent> event =
      ReadStreamEvent(EventOf(EventRecord(R"("SequenceNumber":"1","Keys":{"PK":{"L":)" + deep)));
  EXPECT_FALSE(event && !event->unreadable);
}

// Fails if: the stream of a restored or copied table is counted in this one.
TEST(CheckSource, RefusesTheStreamOfAnotherTable) {
  EXPECT_TRUE(CheckSource(kEventOfAws, "t"));
  EXPECT_TRUE(CheckSource(EventOf(GoodEventRecord(1)), "t")) << "the record names no stream";
  for (const char* other : {"tt", "prod", ""}) {
    const Status checked = CheckSource(kEventOfAws, other);
    ASSERT_FALSE(checked) << other;
    EXPECT_EQ(checked.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(checked.error().message, HasSubstr("a record is from arn:aws:dynamodb:us-east-1"));
  }
}

TEST(BatchResponse, NamesTheFirstRecordThatIsNotApplied) {
  EXPECT_EQ(BatchResponse(std::nullopt), R"({"batchItemFailures":[]})");
  EXPECT_EQ(BatchResponse("0042"), R"({"batchItemFailures":[{"itemIdentifier":"0042"}]})");
}

}  // namespace
}  // namespace weir::dynamo
