#include <gtest/gtest.h>

#include "weir/grpc/request_ids.h"
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

TEST(StatusMessage, IsTheMessageIfThatIsShortUtf8) {
  EXPECT_EQ(StatusMessage("j\xC3\xBCrgen\n"), "j\xC3\xBCrgen\n");
  EXPECT_EQ(StatusMessage(std::string(512, 'x')).size(), 512U);
}

TEST(StatusMessage, IsCutBetweenCharacters) {
  EXPECT_EQ(StatusMessage(std::string(513, 'x')).size(), 512U);
  const std::string odd = std::string(511, 'x') + "\xC3\xBC" + std::string(9, 'y');
  EXPECT_EQ(StatusMessage(odd), std::string(511, 'x'));
  const std::string longer = std::string(509, 'x') + "\xF0\x9F\x98\x80" + std::string(9, 'y');
  EXPECT_EQ(StatusMessage(longer), std::string(509, 'x'));
  const std::string whole = std::string(510, 'x') + "\xC3\xBC" + std::string(9, 'y');
  EXPECT_EQ(StatusMessage(whole), whole.substr(0, 512));
}

// Fails if: bytes that a request chooses reach a client that accepts UTF-8 only.
TEST(StatusMessage, OtherBytesAreQuestionMarks) {
  EXPECT_EQ(StatusMessage("a \xff b \xC3"), "a ? b ?");
  EXPECT_EQ(StatusMessage(std::string(600, '\xBF')), std::string(512, '?'));
}

TEST(EncodeBinaryHeader, HasNoPadding) {
  EXPECT_EQ(EncodeBinaryHeader(""), "");
  EXPECT_EQ(EncodeBinaryHeader("a"), "YQ");
  EXPECT_EQ(EncodeBinaryHeader("ab"), "YWI");
  EXPECT_EQ(EncodeBinaryHeader("\xFB\xFF\xBF"), "+/+/");
}

constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";

TEST(TraceIdOf, IsThatOfTheSpecificationsExample) {
  EXPECT_EQ(TraceIdOf("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), kTrace);
}

TEST(TraceIdOf, LaterVersionsMayHaveMoreFields) {
  EXPECT_EQ(TraceIdOf("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what"), kTrace);
  EXPECT_EQ(TraceIdOf("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what"), "");
}

TEST(TraceIdOf, IsEmptyForMalformedHeaders) {
  for (const char* text : {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
                           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e473\n-00f067aa0ba902b7-01",
                           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g"}) {
    EXPECT_EQ(TraceIdOf(text), "") << text;
  }
}

// Fails if: a caller can write lines of its own into a log, or fill it.
TEST(RequestIds, ARequestIdThatIsNotSafeInALogIsIgnored) {
  const auto taken = [](std::string_view value) {
    RequestIds ids;
    EXPECT_TRUE(ids.Take("x-request-id", value));
    return ids.request;
  };
  EXPECT_EQ(taken("a9f0-7/b:c"), "a9f0-7/b:c");
  EXPECT_EQ(taken(std::string(128, 'x')).size(), 128U);
  for (const std::string& text : {std::string(), std::string(129, 'x'), std::string("a b"),
                                  std::string("a\nb"), std::string("\xC3\xA9")}) {
    EXPECT_EQ(taken(text), "") << text;
  }
}

TEST(RequestIds, OtherFieldsAreNotTaken) {
  RequestIds ids;
  EXPECT_FALSE(ids.Take("x-forwarded-for", "a"));
  EXPECT_TRUE(ids.Take("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  EXPECT_EQ(ids.trace, kTrace);
  EXPECT_EQ(ids.request, "");
}

}  // namespace
}  // namespace weir::grpc
