#include "weir/aws/s3/s3_connection.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr char kAws[] = "https://s3.eu-west-1.amazonaws.com";

S3Address Address(std::string_view bucket, std::string_view endpoint,
                  S3Addressing addressing = S3Addressing::kAuto) {
  return AddressOf(bucket, *ParseEndpoint(endpoint), addressing);
}

TEST(S3Addressing, AwsIsAddressedByHost) {
  EXPECT_EQ(Address("archive", kAws),
            (S3Address{"https://archive.s3.eu-west-1.amazonaws.com", "/"}));
  EXPECT_EQ(Address("archive", "https://s3.cn-north-1.amazonaws.com.cn"),
            (S3Address{"https://archive.s3.cn-north-1.amazonaws.com.cn", "/"}));
}

// Fails if: a host is made that no certificate has.
TEST(S3Addressing, ABucketWithADotIsAddressedByPath) {
  EXPECT_EQ(Address("archive.of.weir", kAws), (S3Address{kAws, "/archive.of.weir/"}));
}

// Fails if: a host is made that nothing resolves.
TEST(S3Addressing, AnotherEndpointIsAddressedByPath) {
  EXPECT_EQ(Address("archive", "http://127.0.0.1:9000"),
            (S3Address{"http://127.0.0.1:9000", "/archive/"}));
  EXPECT_EQ(Address("archive", "http://[::1]:9000"), (S3Address{"http://[::1]:9000", "/archive/"}));
}

// Fails if: the path of a gateway is dropped, so that requests go to another service behind it.
TEST(S3Addressing, ThePathOfAnEndpointPrecedesTheBucket) {
  for (const char* endpoint : {"https://gateway.example/s3", "https://gateway.example/s3/"}) {
    EXPECT_EQ(Address("archive", endpoint), (S3Address{"https://gateway.example", "/s3/archive/"}));
    EXPECT_EQ(Address("archive", endpoint, S3Addressing::kVirtualHost),
              (S3Address{"https://archive.gateway.example", "/s3/"}));
  }
}

TEST(S3Addressing, AnOptionDecides) {
  EXPECT_EQ(Address("archive", kAws, S3Addressing::kPath), (S3Address{kAws, "/archive/"}));
  EXPECT_EQ(Address("archive", "http://minio:9000", S3Addressing::kVirtualHost),
            (S3Address{"http://archive.minio:9000", "/"}));
}

TEST(S3Bucket, NamesFollowTheRules) {
  for (const char* good : {"abc", "a-b.c1", "123"}) EXPECT_TRUE(CheckS3Bucket(good)) << good;
  for (const char* bad : {"", "ab", "Abc", "-abc", "abc-", "a_b", "a/b", "a b"}) {
    EXPECT_FALSE(CheckS3Bucket(bad)) << bad;
  }
  EXPECT_FALSE(CheckS3Bucket(std::string(64, 'a')));
}

}  // namespace
}  // namespace weir
