#include "weir/aws/s3/s3_bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "weir/aws/retrying_client.h"
#include "weir/aws/testing/scripted_aws.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kEmpty[] =
    "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
    "</ListBucketResult>";

class S3BucketTest : public testing::Test {
 protected:
  Deadline Soon() { return Deadline::After(scheduler_.clock(), std::chrono::seconds(30)); }
  void RespondWith(int status, std::string body, std::vector<HttpHeader> headers = {}) {
    transport_.always.response =
        HttpResponse{.status = status, .headers = std::move(headers), .body = std::move(body)};
  }
  tl::expected<void, AwsFailure> Put(S3Object object) {
    tl::expected<void, AwsFailure> result = tl::unexpected(AwsFailure{});
    bucket_.Put(std::move(object), Soon(), [&](auto done) { result = std::move(done); });
    scheduler_.RunAll();
    return result;
  }
  tl::expected<std::string, AwsFailure> Get(std::string_view key) {
    tl::expected<std::string, AwsFailure> result;
    bucket_.Get(key, Soon(), [&](auto done) { result = std::move(done); });
    scheduler_.RunAll();
    return result;
  }
  tl::expected<S3Listing, AwsFailure> List(const S3ListRequest& request) {
    tl::expected<S3Listing, AwsFailure> result;
    bucket_.List(request, Soon(), [&](auto done) { result = std::move(done); });
    scheduler_.RunAll();
    return result;
  }

  sim::SimScheduler scheduler_;
  ScriptedTransport transport_{scheduler_};
  ScriptedCredentials credentials_{scheduler_};
  ScriptedSigner signer_;
  std::unique_ptr<JsonClient> client_ = MakeJsonClient(
      {transport_, signer_, credentials_, scheduler_}, {.target_prefix = "S3", .host = "h"});
  S3Bucket bucket_{*client_, "/archive/"};
};

// Fails if: the request has the headers of a JSON service, or a part of the key is not encoded.
TEST_F(S3BucketTest, PutsAnObject) {
  RespondWith(200, "");
  ASSERT_TRUE(Put({.key = "audit/day=31/\xC3\xA9 +~.gz",
                   .body = "bytes",
                   .content_type = "application/x-ndjson",
                   .content_encoding = "gzip"}));
  ASSERT_EQ(transport_.requests.size(), 1U);
  const HttpRequest& request = transport_.requests[0];
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.path, "/archive/audit/day%3D31/%C3%A9%20%2B~.gz");
  EXPECT_EQ(request.body, "bytes");
  EXPECT_THAT(
      request.headers,
      ElementsAre(HttpHeader{"host", "h"}, HttpHeader{"content-type", "application/x-ndjson"},
                  HttpHeader{"content-encoding", "gzip"}, HttpHeader{"authorization", "key-1"}));
}

TEST_F(S3BucketTest, AnObjectWithoutAnEncodingSaysNone) {
  ASSERT_TRUE(Put({.key = "k", .body = "b"}));
  EXPECT_THAT(transport_.requests[0].headers,
              Not(Contains(testing::Field(&HttpHeader::name, "content-encoding"))));
}

TEST_F(S3BucketTest, GetsTheBytesOfAnObject) {
  const std::string bytes("\x1f\x8b\0{", 4);
  RespondWith(200, bytes);
  EXPECT_EQ(Get("a/b").value_or(""), bytes);
  EXPECT_EQ(transport_.requests[0].method, "GET");
  EXPECT_EQ(transport_.requests[0].path, "/archive/a/b");
}

TEST_F(S3BucketTest, ListsAPage) {
  RespondWith(200, kEmpty);
  ASSERT_TRUE(List({.prefix = "audit/", .delimiter = "/", .token = "a+b/=", .most = 7}));
  EXPECT_EQ(transport_.requests[0].path,
            "/archive/?continuation-token=a%2Bb%2F%3D&delimiter=%2F&encoding-type=url&list-type=2&"
            "max-keys=7&prefix=audit%2F");
  EXPECT_EQ(transport_.requests[0].body, "");
}

TEST_F(S3BucketTest, AListingThatDoesNotReadIsAFailure) {
  RespondWith(200, "<html/>");
  const auto failed = List({});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, FailureClass::kPermanent);
  EXPECT_THAT(failed.error().message, HasSubstr("malformed response"));
}

// Fails if: the code, the message or the request id of an error is lost.
TEST_F(S3BucketTest, AnErrorHasItsCodeMessageAndRequest) {
  RespondWith(
      404,
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code><Message>The "
      "specified key does not exist.</Message><Key>k</Key><RequestId>4442587FB7D0A2F9"
      "</RequestId></Error>",
      {{"x-amz-request-id", "4442587FB7D0A2F9"}});
  const auto failed = Get("k");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, "NoSuchKey");
  EXPECT_EQ(ToError(failed.error()).code, Code::kNotFound);
  EXPECT_EQ(failed.error().message,
            "GetObject at h: 404 NoSuchKey: The specified key does not exist. (request "
            "4442587FB7D0A2F9)");
}

// Fails if: a put in doubt is not repeated, which does no harm.
TEST_F(S3BucketTest, CallsAreRepeated) {
  transport_.script.push_back({.response = tl::unexpected(HttpFailure{true, false, "broken"})});
  transport_.script.push_back(
      {.response = HttpResponse{.status = 503,
                                .body = "<Error><Code>SlowDown</Code><Message>Please reduce "
                                        "your request rate.</Message></Error>"}});
  RespondWith(200, "");
  EXPECT_TRUE(Put({.key = "k", .body = "b"}));
  EXPECT_EQ(transport_.requests.size(), 3U);
}

}  // namespace
}  // namespace weir
