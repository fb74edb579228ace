#include "weir/events/sqs_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "weir/aws/testing/loopback_server_fixture.h"
#include "weir/events/sqs_wire.h"
#include "weir/runtime/await.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::optional<std::string> RegionOf(const std::string& host) {
  const auto queue = ParseQueueUrl("https://" + host + "/123456789012/ended");
  EXPECT_TRUE(queue.has_value()) << host;
  return queue ? queue->region : std::nullopt;
}

TEST(ParseQueueUrl, PartsAQueueFromItsService) {
  const auto queue = ParseQueueUrl("https://sqs.eu-west-1.amazonaws.com/123456789012/ended");
  ASSERT_TRUE(queue);
  EXPECT_EQ(*queue, (SqsQueue{"https://sqs.eu-west-1.amazonaws.com/123456789012/ended",
                              "https://sqs.eu-west-1.amazonaws.com", "eu-west-1"}));
}

TEST(ParseQueueUrl, KnowsTheRegionsOfOtherHosts) {
  EXPECT_EQ(RegionOf("sqs.cn-north-1.amazonaws.com.cn"), "cn-north-1");
  EXPECT_EQ(RegionOf("sqs-fips.us-gov-west-1.amazonaws.com"), "us-gov-west-1");
  EXPECT_EQ(RegionOf("vpce-0a-b.sqs.us-east-2.vpce.amazonaws.com"), "us-east-2");
  EXPECT_EQ(RegionOf("eu-central-1.queue.amazonaws.com"), "eu-central-1");
  EXPECT_EQ(RegionOf("queue.amazonaws.com"), std::nullopt);
  EXPECT_EQ(RegionOf("sqs.example.com"), std::nullopt);
  EXPECT_EQ(RegionOf("sqs"), std::nullopt);
}

TEST(ParseQueueUrl, AnEngineHasNoRegion) {
  const auto queue = ParseQueueUrl("http://localhost:9324/000000000000/ended");
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->endpoint_url, "http://localhost:9324");
  EXPECT_EQ(queue->region, std::nullopt);
}

TEST(ParseQueueUrl, RefusesWhatNamesNoQueue) {
  for (const char* bad : {"", "ended", "arn:aws:sqs:eu-west-1:123456789012:ended",
                          "https://sqs.eu-west-1.amazonaws.com",
                          "https://sqs.eu-west-1.amazonaws.com/", "https://h/1/q?x=1"}) {
    const auto queue = ParseQueueUrl(bad);
    ASSERT_FALSE(queue) << bad;
    EXPECT_EQ(queue.error().code, Code::kInvalidArgument);
  }
}

HostEnvironment NoSurroundings() {
  return {.environment = [](std::string_view) { return std::nullopt; },
          .read_file = [](const std::string&) { return Fail(Code::kNotFound, "none"); }};
}

TEST(ConnectSqs, CallsAreThoseOfSqsSignedForTheRegion) {
  setenv("AWS_ACCESS_KEY_ID", "key", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  LoopbackServer server([](const SeenRequest&) { return ScriptedReply{.bytes = Ok("{}")}; });
  const SystemClock clock;
  const auto queue =
      ParseQueueUrl("http://127.0.0.1:" + std::to_string(server.port()) + "/1/ended");
  const auto connection = ConnectSqs(*queue, {.region = "eu-west-1"}, clock, NoSurroundings());
  ASSERT_TRUE(connection) << connection.error().message;
  const auto response = Await<std::string>([&](Done<std::string> done) {
    (*connection)
        ->client()
        .Call({"ReceiveMessage", "{}", true}, Deadline::After(clock, std::chrono::seconds(30)),
              [done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
                if (!reply) return done(Fail(ToError(reply.error())));
                done(std::move(reply->body));
              });
  });
  EXPECT_EQ(response, "{}");
  ASSERT_EQ(server.seen().size(), 1U);
  EXPECT_THAT(server.seen().front().head,
              AllOf(HasSubstr("POST / "), HasSubstr("x-amz-target: AmazonSQS.ReceiveMessage"),
                    HasSubstr("content-type: application/x-amz-json-1.0"),
                    HasSubstr("/eu-west-1/sqs/aws4_request")));
}

TEST(ConnectSqs, WithoutARegionThereIsNoService) {
  const SystemClock clock;
  const auto queue = ParseQueueUrl("http://localhost:9324/1/ended");
  const auto connection = ConnectSqs(*queue, {}, clock, NoSurroundings());
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace weir
