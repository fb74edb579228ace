#include <gtest/gtest.h>

#include "weir/grpc/status_text.h"
#include "weir/grpc/timeout_text.h"

namespace weir::grpc {
namespace {

TEST(ParseTimeout, ReadsEachUnit) {
  EXPECT_EQ(ParseTimeout("20m")->count(), 20'000'000);
  EXPECT_EQ(ParseTimeout("1H")->count(), 3'600'000'000'000);
  EXPECT_EQ(ParseTimeout("2M")->count(), 120'000'000'000);
  EXPECT_EQ(ParseTimeout("3S")->count(), 3'000'000'000);
  EXPECT_EQ(ParseTimeout("4u")->count(), 4'000);
  EXPECT_EQ(ParseTimeout("00000005n")->count(), 5);
}

// Fails if: the longest time that the header can express leaves 64 bits.
TEST(ParseTimeout, AVeryLongTimeIsAYear) {
  EXPECT_EQ(ParseTimeout("99999999H")->count(), 366LL * 86'400 * 1'000'000'000);
}

TEST(ParseTimeout, RefusesOtherTexts) {
  for (const char* text : {"", "m", "20", "20x", "-1S", "123456789S", " 1S", "1 S", "1.5S"}) {
    EXPECT_FALSE(ParseTimeout(text)) << text;
  }
}

TEST(EscapeStatusMessage, KeepsPrintableAsciiAndEscapesOtherBytes) {
  EXPECT_EQ(EscapeStatusMessage("limit rpm: 100 % of\nit"), "limit rpm: 100 %25 of%0Ait");
  EXPECT_EQ(EscapeStatusMessage("\xC3\xA9"), "%C3%A9");
}

TEST(EscapeStatusMessage, CutsALongMessageBetweenLetters) {
  const std::string text = EscapeStatusMessage(std::string(2'000, '%'));
  EXPECT_EQ(text.size(), 1'023U);
  EXPECT_TRUE(text.ends_with("%25"));
}

}  // namespace
}  // namespace weir::grpc
