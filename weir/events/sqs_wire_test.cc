// The bodies of SQS's calls. The examples are from the Amazon SQS API Reference, shortened.
#include "weir/events/sqs_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

namespace weir {
namespace {

using std::chrono::seconds;
using testing::FieldsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(SqsWire, AReceiveSaysHowLongToWaitAndHowMany) {
  EXPECT_EQ(ReceiveBody("https://h/1/q", {}),
            R"({"QueueUrl":"https://h/1/q","AttributeNames":["SentTimestamp"],)"
            R"("MaxNumberOfMessages":10,"WaitTimeSeconds":20})");
  EXPECT_THAT(ReceiveBody("u", {.wait = seconds(3), .max_messages = 1, .visibility = seconds(60)}),
              HasSubstr(R"("MaxNumberOfMessages":1,"WaitTimeSeconds":3,"VisibilityTimeout":60})"));
}

TEST(SqsWire, NumbersBeyondTheServicesAreRefused) {
  EXPECT_TRUE(Check(ReceiveOptions{}));
  for (const ReceiveOptions& bad :
       {ReceiveOptions{.wait = seconds(0)}, ReceiveOptions{.wait = seconds(21)},
        ReceiveOptions{.max_messages = 0}, ReceiveOptions{.max_messages = 11},
        ReceiveOptions{.visibility = seconds(0)}, ReceiveOptions{.visibility = seconds(43'201)}}) {
    const Status checked = Check(bad);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::kInvalidArgument);
    EXPECT_THAT(checked.error().message, HasSubstr("expected"));
  }
}

TEST(SqsWire, MessagesAreRead) {
  const auto received = ReadReceived(R"({"Messages":[
      {"Attributes":{"SenderId":"A","SentTimestamp":"1767225600013"},"Body":"one",
       "MD5OfBody":"fafb","MessageId":"m-1","ReceiptHandle":"r-1"},
      {"Attributes":{"SentTimestamp":"soon"},"ReceiptHandle":"r-2","Body":""}]})");
  ASSERT_TRUE(received);
  EXPECT_THAT(*received,
              testing::ElementsAre(FieldsAre("m-1", "r-1", "one", UnixMillis{1'767'225'600'013}),
                                   FieldsAre("", "r-2", "", std::nullopt)));
}

TEST(SqsWire, AnAnswerWithoutMessagesIsEmpty) {
  for (const char* none : {"{}", R"({"Messages":[]})", R"({"Messages":null})"}) {
    const auto received = ReadReceived(none);
    ASSERT_TRUE(received) << none;
    EXPECT_THAT(*received, IsEmpty());
  }
}

TEST(SqsWire, WhatIsNoAnswerIsRefused) {
  for (const char* bad : {"", "x", "[]", R"({"Messages":5})", R"({"Messages":[5]})",
                          R"({"Messages":[{"Body":"without receipt"}]})"}) {
    const auto received = ReadReceived(bad);
    ASSERT_FALSE(received) << bad;
    EXPECT_EQ(received.error().code, Code::kUnknown);
  }
  for (const char* bad : {"", "[]", R"({"Failed":{}})"}) EXPECT_FALSE(ReadDeleted(bad)) << bad;
}

// Fails if: a receipt or URL is written without escapes.
RC_GTEST_PROP(SqsWireProperty, ADeleteNamesEachReceiptByAnIdOfItsOwn, ()) {
  const auto text = rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
  const auto receipts = *rc::gen::container<std::vector<std::string>>(10, text);
  const std::string url = *text;
  const auto body = nlohmann::json::parse(DeleteBody(url, receipts));
  RC_ASSERT(body["QueueUrl"] == url);
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    RC_ASSERT(body["Entries"][i]["ReceiptHandle"] == receipts[i]);
    RC_ASSERT(body["Entries"][i]["Id"] == std::to_string(i));
  }
}

TEST(SqsWire, AHidingSaysForHowLong) {
  const SqsHiding hidings[] = {{"r-1", seconds(240)}, {"r\"2", seconds(0)}};
  EXPECT_EQ(
      HideBody("u", hidings),
      R"({"QueueUrl":"u","Entries":[{"Id":"0","ReceiptHandle":"r-1","VisibilityTimeout":240},)"
      R"({"Id":"1","ReceiptHandle":"r\"2","VisibilityTimeout":0}]})");
  const auto hidden = ReadHidden(
      R"({"Successful":[{"Id":"0"}],"Failed":[{"Id":"1","Code":"X","Message":"gone"}]})");
  ASSERT_TRUE(hidden);
  EXPECT_EQ(hidden->failed, 1U);
  EXPECT_EQ(hidden->first_fault, "X: gone");
}

TEST(SqsWire, WhatWasNotDeletedIsTold) {
  const auto all = ReadDeleted(R"({"Successful":[{"Id":"0"},{"Id":"1"}]})");
  ASSERT_TRUE(all);
  EXPECT_THAT(*all, FieldsAre(2, 0, ""));
  const auto some = ReadDeleted(R"({"Successful":[{"Id":"0"}],"Failed":[{"Id":"1",
      "SenderFault":true,"Code":"ReceiptHandleIsInvalid","Message":"it\nexpired"}]})");
  ASSERT_TRUE(some);
  EXPECT_THAT(*some, FieldsAre(1, 1, R"(ReceiptHandleIsInvalid: it\x0aexpired)"));
}

}  // namespace
}  // namespace weir
