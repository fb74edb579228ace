#include "weir/dynamodb/streams/sequence_number.h"

#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

TEST(SequenceNumber, IsKeptWithoutLeadingZeros) {
  EXPECT_EQ(NormalizeSequenceNumber("000000000000000001034"), "1034");
  EXPECT_EQ(NormalizeSequenceNumber("4421584500000000017450439091"),
            "4421584500000000017450439091");
  EXPECT_EQ(NormalizeSequenceNumber("0"), "0");
  EXPECT_EQ(NormalizeSequenceNumber("000"), "0");
}

TEST(SequenceNumber, OtherTextsAreNone) {
  for (const char* text : {"", "-1", "1.0", "12a", " 1"}) {
    EXPECT_FALSE(NormalizeSequenceNumber(text)) << text;
  }
  EXPECT_TRUE(NormalizeSequenceNumber(std::string(40, '9')));
  EXPECT_FALSE(NormalizeSequenceNumber(std::string(41, '9')));
}

// Fails if: the texts are compared as texts.
TEST(SequenceNumber, NumbersAreComparedByTheirValue) {
  EXPECT_TRUE(IsEarlier("9", "10"));
  EXPECT_FALSE(IsEarlier("10", "9"));
  EXPECT_TRUE(IsEarlier("19", "20"));
  EXPECT_FALSE(IsEarlier("20", "20"));
}

TEST(SequenceNumber, RequestsHaveAtLeast21Digits) {
  EXPECT_EQ(PadSequenceNumber("1034"), "000000000000000001034");
  EXPECT_EQ(PadSequenceNumber("4421584500000000017450439091"), "4421584500000000017450439091");
}

}  // namespace
}  // namespace weir::dynamo
