#include "weir/archive/archive_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ArchiveUrlTest, ReadsBucketPrefixAndPlace) {
  EXPECT_EQ(*ParseArchiveUrl("s3://archive"), (ArchiveUrl{.bucket = "archive", .prefix = ""}));
  EXPECT_EQ(*ParseArchiveUrl("s3://archive/"), (ArchiveUrl{.bucket = "archive", .prefix = ""}));
  EXPECT_EQ(*ParseArchiveUrl("s3://archive/a/b%20c?region=eu-west-1&endpoint=http://h:9000"),
            (ArchiveUrl{.bucket = "archive",
                        .prefix = "a/b c/",
                        .region = "eu-west-1",
                        .endpoint = "http://h:9000"}));
}

TEST(ArchiveUrlTest, OtherTextsAreRefused) {
  for (const char* bad : {"", "s3:", "s3://", "s3:///prefix", "s3://A_B", "https://archive",
                          "s3://archive?namespace=x", "s3://archive?region=", "s3://archive#x"}) {
    const auto refused = ParseArchiveUrl(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, StartsWith("archive '"));
    EXPECT_THAT(refused.error().message, HasSubstr("s3://BUCKET/PREFIX"));
  }
}

}  // namespace
}  // namespace weir
