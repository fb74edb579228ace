#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "weir/aws/testing/signer_contract.h"

namespace weir {
namespace {

/// A request and the signature that another implementation computed for it.
struct Vector {
  std::string name;
  SigningScope scope;
  UnixMillis now;
  Credentials credentials;
  HttpRequest request;
  std::string authorization;
};

Vector Parse(const nlohmann::json& in) {
  Vector vector{.name = in["name"],
                .scope = {.region = in["region"], .service = in["service"]},
                .now = {in["unix_millis"]},
                .credentials = {.access_key_id = in["credentials"]["access_key_id"],
                                .secret_access_key = in["credentials"]["secret_access_key"],
                                .session_token = in["credentials"]["session_token"],
                                .expires = std::nullopt},
                .request = {.method = in["method"], .path = in["path"], .body = in["body"]},
                .authorization = in["authorization"]};
  for (const auto& header : in["headers"]) vector.request.headers.push_back({header[0], header[1]});
  return vector;
}

/// The files are described in testdata/README.md.
std::vector<Vector> Vectors(const std::string& file) {
  std::ifstream in(std::string(WEIR_SOURCE_DIR "/weir/aws/testdata/") + file);
  std::vector<Vector> vectors;
  for (const auto& entry : nlohmann::json::parse(in)) vectors.push_back(Parse(entry));
  return vectors;
}

std::string HeaderOf(const HttpRequest& request, const std::string& name) {
  std::string all;
  for (const HttpHeader& header : request.headers) {
    if (header.name == name) all += (all.empty() ? "" : " AND ") + header.value;
  }
  return all;
}

}  // namespace

void SignerContract::ExpectTheirSignatures(const std::string& file, std::size_t at_least) {
  const std::vector<Vector> vectors = Vectors(file);
  EXPECT_GE(vectors.size(), at_least);
  for (const Vector& vector : vectors) {
    SCOPED_TRACE(vector.name);
    HttpRequest request = vector.request;
    EXPECT_TRUE(Sign(vector.scope, request, vector.credentials, vector.now));
    EXPECT_EQ(HeaderOf(request, "authorization"), vector.authorization);
    EXPECT_EQ(HeaderOf(request, "x-amz-security-token"), vector.credentials.session_token);
  }
}

namespace {

TEST_P(SignerContract, SignsAsTheTestSuiteOfAws) {
  ExpectTheirSignatures("sigv4_test_suite.json", 32);
}

TEST_P(SignerContract, SignsAsBotocore) { ExpectTheirSignatures("sigv4_botocore.json", 6); }

// Fails if: the path of S3 is normalised or encoded twice, or the hash of the body is not signed.
TEST_P(SignerContract, SignsForS3AsBotocore) { ExpectTheirSignatures("sigv4_botocore_s3.json", 5); }

TEST_P(SignerContract, SigningForS3AgainReplacesTheHashOfTheBody) {
  const SigningScope s3{.region = "us-east-1", .service = "s3"};
  HttpRequest request{.method = "PUT", .path = "/k", .headers = {{"host", "h"}}, .body = "x"};
  ASSERT_TRUE(Sign(s3, request, credentials_, now_ - milliseconds(60'000)));
  ASSERT_TRUE(Sign(s3, request, credentials_, now_));
  EXPECT_EQ(HeaderOf(request, "x-amz-content-sha256"),
            "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
  EXPECT_EQ(HeaderOf(request, "x-amz-date"), "20150830T123600Z");
}

TEST_P(SignerContract, SigningAgainReplacesWhatTheFirstSigningAdded) {
  HttpRequest request{.headers = {{"host", "h"}}, .body = "x"};
  Credentials with_token = credentials_;
  with_token.session_token = "token";
  ASSERT_TRUE(Sign(scope_, request, with_token, now_ - milliseconds(60'000)));
  ASSERT_TRUE(Sign(scope_, request, credentials_, now_));
  HttpRequest once{.headers = {{"host", "h"}}, .body = "x"};
  ASSERT_TRUE(Sign(scope_, once, credentials_, now_));
  EXPECT_EQ(request.headers, once.headers);
  EXPECT_EQ(HeaderOf(request, "x-amz-date"), "20150830T123600Z");
}

TEST_P(SignerContract, TheBodyAndTheRestOfTheRequestStayAsTheyAre) {
  HttpRequest request{
      .method = "POST", .path = "/p?q=1", .headers = {{"host", "h"}}, .body = "body"};
  ASSERT_TRUE(Sign(scope_, request, credentials_, now_));
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/p?q=1");
  EXPECT_EQ(request.body, "body");
  EXPECT_EQ(request.headers[0], (HttpHeader{"host", "h"}));
}

TEST_P(SignerContract, ARequestThatCannotBeSignedIsLeftAsItWas) {
  HttpRequest without_host{.body = "x"};
  const Status refused = Sign(scope_, without_host, credentials_, now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("host"));
  EXPECT_TRUE(without_host.headers.empty());

  HttpRequest request{.headers = {{"host", "h"}}, .body = "x"};
  EXPECT_FALSE(Sign(scope_, request, {}, now_));
  EXPECT_EQ(request.headers.size(), 1U);
}

TEST_P(SignerContract, WithoutARegionNothingIsSigned) {
  HttpRequest request{.headers = {{"host", "h"}}, .body = "x"};
  const Status refused = Sign({.region = "", .service = "s"}, request, credentials_, now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(request.headers.size(), 1U);
}

TEST_P(SignerContract, AnErrorTellsNoSecret) {
  HttpRequest request{.path = "/", .headers = {{"host", "h"}, {"bad\nname", "v"}}, .body = "x"};
  Credentials incomplete = credentials_;
  incomplete.access_key_id.clear();
  incomplete.session_token = "SESSION";
  const Status refused = Sign(scope_, request, incomplete, now_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::Not(testing::HasSubstr("wJalr")));
  EXPECT_THAT(refused.error().message, testing::Not(testing::HasSubstr("SESSION")));
}

}  // namespace
}  // namespace weir
