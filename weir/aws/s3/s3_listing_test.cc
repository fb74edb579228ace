#include "weir/aws/s3/s3_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The form of "ListObjectsV2" in the API reference, with encoding-type=url.
constexpr char kPage[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>archive</Name><Prefix>audit/</Prefix><KeyCount>3</KeyCount><MaxKeys>3</MaxKeys>
  <EncodingType>url</EncodingType><Delimiter>%2F</Delimiter><IsTruncated>true</IsTruncated>
  <Contents><Key>audit/a+b%2B%C3%A9.gz</Key><LastModified>2026-01-31T09:05:07.000Z</LastModified>
    <ETag>&quot;70ee1738b6b21e2c8a43f3a5ab0eee71&quot;</ETag><Size>434234</Size>
    <StorageClass>STANDARD</StorageClass></Contents>
  <Contents><Key>audit/empty</Key><Size>0</Size></Contents>
  <CommonPrefixes><Prefix>audit/year%3D2026/</Prefix></CommonPrefixes>
  <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>
</ListBucketResult>)";

TEST(S3Listing, ReadsAPage) {
  const auto listing = ReadS3Listing(kPage);
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_THAT(listing->objects,
              ElementsAre(S3Entry{"audit/a b+\xC3\xA9.gz", 434'234}, S3Entry{"audit/empty", 0}));
  EXPECT_THAT(listing->prefixes, ElementsAre("audit/year=2026/"));
  EXPECT_EQ(listing->next, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
}

TEST(S3Listing, TheLastPageHasNoNextOne) {
  const auto listing = ReadS3Listing(
      "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
      "</ListBucketResult>");
  ASSERT_TRUE(listing);
  EXPECT_THAT(listing->objects, IsEmpty());
  EXPECT_EQ(listing->next, "");
}

// Fails if: a response that was cut off, or lacks a part, is taken for a shorter listing.
TEST(S3Listing, AMalformedResponseIsRefused) {
  const std::string body = kPage;
  for (std::size_t size = 0; size < body.size() - 1; size += 7) {
    EXPECT_FALSE(ReadS3Listing(body.substr(0, size))) << size;
  }
  for (const auto& [part, replacement] :
       {std::pair("434234", "-1"), std::pair("434234", ""), std::pair("a+b%2B", "a%2"),
        std::pair("a+b", "a%GGb"), std::pair("<EncodingType>url", "<EncodingType>"),
        std::pair("NextContinuationToken>1", "Next>1"), std::pair("ListBucketResult", "Error")}) {
    std::string changed = body;
    changed.replace(changed.find(part), std::string(part).size(), replacement);
    const auto refused = ReadS3Listing(changed);
    ASSERT_FALSE(refused) << part;
    EXPECT_EQ(refused.error().code, Code::kUnknown);
    EXPECT_THAT(refused.error().message, HasSubstr("ListObjectsV2: malformed response: "));
  }
}

// Fails if: entities that the response declares are expanded.
TEST(S3Listing, DeclaredEntitiesAreNotExpanded) {
  const auto listing = ReadS3Listing(
      "<!DOCTYPE x [<!ENTITY a \"bb\">]><ListBucketResult><EncodingType>url</EncodingType>"
      "<Contents><Key>&a;</Key><Size>1</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(listing);
  EXPECT_THAT(listing->objects, ElementsAre(S3Entry{"&a;", 1}));
}

}  // namespace
}  // namespace weir
