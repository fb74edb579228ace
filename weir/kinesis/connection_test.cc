#include "weir/kinesis/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "weir/aws/testing/loopback_server_fixture.h"
#include "weir/kinesis/wire/wire.h"
#include "weir/runtime/await.h"

namespace weir::kinesis {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Connects to a server whose responses the test sets, with fixed credentials that it does not
// check.
class ConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("AWS_ACCESS_KEY_ID", "key", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  }

  static ConnectionOptions Options(const LoopbackServer& server) {
    return {.region = "eu-west-1",
            .endpoint_url = "http://127.0.0.1:" + std::to_string(server.port()),
            .content_type = "application/x-amz-test"};
  }
  static HostEnvironment NoSurroundings() {
    return {.environment = [](std::string_view) { return std::nullopt; },
            .read_file = [](const std::string&) { return Fail(Code::kNotFound, "none"); }};
  }
  Result<std::string> Ask(const ConnectionOptions& options) {
    WEIR_ASSIGN_OR_RETURN(const auto connection, Connect(options, clock_, NoSurroundings()));
    return Await<std::string>([&](auto done) {
      connection->client().Call(
          {"ListShards", "{}", true}, Deadline::After(clock_, std::chrono::seconds(30)),
          [done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
            if (!reply) return done(Fail(ToError(reply.error())));
            done(std::move(reply->body));
          });
    });
  }

  SystemClock clock_;
};

std::string Throttle() {
  const std::string body = R"({"__type":"LimitExceededException"})";
  return "HTTP/1.1 400 Bad Request\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

TEST_F(ConnectionTest, CallsAreKinesisOnesSignedForTheRegion) {
  LoopbackServer server([](const SeenRequest&) { return ScriptedReply{.bytes = Ok("hello")}; });
  EXPECT_EQ(Ask(Options(server)), "hello");
  ASSERT_EQ(server.seen().size(), 1U);
  EXPECT_THAT(server.seen().front().head,
              AllOf(HasSubstr("POST / "), HasSubstr("x-amz-target: Kinesis_20131202.ListShards"),
                    HasSubstr("content-type: application/x-amz-test"),
                    HasSubstr("/eu-west-1/kinesis/aws4_request")));
}

TEST_F(ConnectionTest, CallsOnCloudWatchAreItsOwnSignedAsMonitoring) {
  LoopbackServer server([](const SeenRequest&) { return ScriptedReply{.bytes = Ok("{}")}; });
  ConnectionOptions options = CloudWatchConnectionFor({.region = "eu-west-1"});
  EXPECT_EQ(options.endpoint_url, "") << "the region's";
  options.endpoint_url = Options(server).endpoint_url;
  EXPECT_EQ(Ask(options), "{}");
  ASSERT_EQ(server.seen().size(), 1U);
  EXPECT_THAT(server.seen().front().head,
              AllOf(HasSubstr("x-amz-target: GraniteServiceVersion20100801.ListShards"),
                    HasSubstr("content-type: application/x-amz-json-1.0"),
                    HasSubstr("/eu-west-1/monitoring/aws4_request")));
  const ProducerConfig named{.endpoint = "k", .cloudwatch_endpoint = "h", .cloudwatch_port = 8443};
  EXPECT_EQ(CloudWatchConnectionFor(named).endpoint_url, "https://h:8443");
}

TEST_F(ConnectionTest, WhatFailedIsToldAtOnceUnlessMoreAttemptsAreAsked) {
  LoopbackServer server([](const SeenRequest&) { return ScriptedReply{.bytes = Throttle()}; });
  ConnectionOptions options = Options(server);
  EXPECT_FALSE(Ask(options));
  EXPECT_EQ(server.seen().size(), 1U);
  options.max_attempts = 2;
  EXPECT_FALSE(Ask(options));
  EXPECT_EQ(server.seen().size(), 3U);
}

TEST_F(ConnectionTest, AnEngineThatIsSilentIsGivenUpAfterTheTimeOfARequest) {
  LoopbackServer server([](const SeenRequest&) { return ScriptedReply{}; });
  ConnectionOptions options = Options(server);
  options.request_timeout = milliseconds(50);
  EXPECT_FALSE(Ask(options));
}

TEST_F(ConnectionTest, WithoutARegionThereIsNoService) {
  const auto connection = Connect({}, clock_, NoSurroundings());
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, Code::kInvalidArgument);
}

TEST_F(ConnectionTest, TheBundleOfAuthoritiesIsFoundAsAwsToolsFindIt) {
  const HostEnvironment told{
      .environment = [](std::string_view name) -> std::optional<std::string> {
        if (name == "AWS_CA_BUNDLE") return "/nowhere/bundle.pem";
        return std::nullopt;
      },
      .read_file = NoSurroundings().read_file};
  ConnectionOptions options{.region = "eu-west-1", .endpoint_url = {}, .content_type = {}};
  const auto connection = Connect(options, clock_, told);
  ASSERT_FALSE(connection);
  EXPECT_THAT(connection.error().message, HasSubstr("/nowhere/bundle.pem"));
  options.tls.ca_file = "/nowhere/own.pem";
  const auto own = Connect(options, clock_, told);
  ASSERT_FALSE(own);
  EXPECT_THAT(own.error().message, HasSubstr("/nowhere/own.pem"));
}

TEST(ConnectionFor, TheConfigurationSaysHowToConnect) {
  const auto loaded = ParseProperties(
      "Region = eu-central-1\nKinesisEndpoint = host\nKinesisPort = 8443\nProxyHost = proxy\n"
      "ProxyPort = 3128\nProxyUserName = user\nProxyPassword = pass\nCaCertFile = /a.pem\n"
      "CaCertPath = /folder\nVerifyCertificate = false\nMaxConnections = 3\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->ignored.empty());
  const ConnectionOptions options = ConnectionFor(loaded->config);
  EXPECT_EQ(options.region, "eu-central-1");
  EXPECT_EQ(options.endpoint_url, "https://host:8443");
  EXPECT_EQ(options.tls.ca_file, "/a.pem");
  EXPECT_EQ(options.tls.ca_folder, "/folder");
  EXPECT_FALSE(options.tls.verify_certificate);
  EXPECT_EQ(options.max_connections, 3U);
  ASSERT_TRUE(options.proxy);
  EXPECT_EQ(options.proxy->host, "proxy");
  EXPECT_EQ(options.proxy->port, 3128);
  EXPECT_EQ(options.proxy->user, "user");
  EXPECT_EQ(options.proxy->password, "pass");
  EXPECT_FALSE(ConnectionFor({}).proxy);
}

}  // namespace
}  // namespace weir::kinesis
