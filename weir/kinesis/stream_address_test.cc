#include "weir/kinesis/stream_address.h"

#include <gtest/gtest.h>

namespace weir::kinesis {
namespace {

TEST(StreamAddress, ANameIsAName) {
  for (const std::string name : {"a", "orders.v2-eu_west", "arn"}) {
    const auto stream = ParseStreamAddress(name);
    ASSERT_TRUE(stream) << name;
    EXPECT_EQ(stream->name, name);
    EXPECT_EQ(stream->arn, "");
    EXPECT_EQ(RegionOf(*stream), "");
  }
  EXPECT_TRUE(ParseStreamAddress(std::string(128, 'a')));
}

TEST(StreamAddress, AnArnTellsItsRegion) {
  for (const std::string partition : {"aws", "aws-cn", "aws-us-gov"}) {
    const std::string arn = "arn:" + partition + ":kinesis:eu-west-1:123456789012:stream/a.b";
    const auto stream = ParseStreamAddress(arn);
    ASSERT_TRUE(stream) << arn;
    EXPECT_EQ(stream->arn, arn);
    EXPECT_EQ(stream->name, "");
    EXPECT_EQ(RegionOf(*stream), "eu-west-1");
  }
}

TEST(StreamAddress, WhatIsNeitherIsRefused) {
  for (const std::string text :
       {"", "a b", "a/b", "arn:aws:kinesis:eu-west-1:123456789012:stream/",
        "arn:aws:kinesis:eu-west-1:123456789012:table/a", "arn:aws:kinesis:eu-west-1:1:stream/a",
        "arn:aws:dynamodb:eu-west-1:123456789012:stream/a",
        "arn:aws:kinesis::123456789012:stream/a",
        "arn:aws:kinesis:eu-west-1:123456789012:stream/a:b", "arn:aws:kinesis"}) {
    const auto stream = ParseStreamAddress(text);
    ASSERT_FALSE(stream) << text;
    EXPECT_EQ(stream.error().code, Code::kInvalidArgument);
  }
  EXPECT_FALSE(ParseStreamAddress(std::string(129, 'a')));
}

}  // namespace
}  // namespace weir::kinesis
