#include "weir/aws/xml_error.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

std::string Wrapped(std::string_view error) {
  return "<ErrorResponse>" + std::string(error) + "</ErrorResponse>";
}

void ExpectError(std::string_view body, std::string_view code, std::string_view message) {
  const auto error = ReadXmlError(body);
  ASSERT_TRUE(error) << body;
  EXPECT_EQ(error->code, code) << body;
  EXPECT_EQ(error->message, message) << body;
}

TEST(ReadXmlError, ReadsWhatServicesWrite) {
  ExpectError(
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<ErrorResponse><Errors><Error><Code>"
      "InvalidClientTokenId</Code><Message>The security token included in the request is "
      "invalid.</Message><Type>Sender</Type></Error></Errors></ErrorResponse>",
      "InvalidClientTokenId", "The security token included in the request is invalid.");
  ExpectError(
      "<ErrorResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\n  <Error>\n    "
      "<Type>Sender</Type>\n    <Code>Throttling</Code>\n    <Message>Rate exceeded</Message>\n  "
      "</Error>\n  <RequestId>1</RequestId>\n</ErrorResponse>\n",
      "Throttling", "Rate exceeded");
  ExpectError(
      "<Response><Errors><Error><Code>AuthFailure</Code><Message>no</Message></Error></Errors>"
      "<RequestID>1</RequestID></Response>",
      "AuthFailure", "no");
  ExpectError("<Error><Code>NoSuchBucket</Code><Message>gone</Message><Empty/></Error>",
              "NoSuchBucket", "gone");
  ExpectError(Wrapped("<Error><Code>X</Code></Error>"), "X", "");
}

TEST(ReadXmlError, TellsCharactersAsTheyAreMeant) {
  ExpectError(
      "<Error><Code>X</Code><Message>&lt;a&gt; &amp;amp; &quot;b&apos;&#10;</Message></Error>", "X",
      "<a> &amp; \"b'?");
}

TEST(ReadXmlError, TakesTheFirst) {
  ExpectError(Wrapped("<Error><Code>X</Code><Code>Y</Code><Message>m</Message></Error>"
                      "<Error><Code>Z</Code><Message>n</Message></Error>"),
              "X", "m");
}

TEST(ReadXmlError, LeavesAloneWhatIsNoErrorOfAWS) {
  for (const std::string& body : std::vector<std::string>{
           "", "{}", "<html><body>502</body></html>", "<html><Error><Code>X</Code></Error></html>",
           "<ErrorResponse><Code>X</Code></ErrorResponse>", "<Error><Code><b>X</b></Code></Error>",
           "<Error><Inner><Code>X</Code></Inner></Error>", "<Error><Code/></Error>",
           "text<Error><Code>X</Code></Error>"}) {
    EXPECT_FALSE(ReadXmlError(body)) << body;
  }
}

TEST(ReadXmlError, IsStrict) {
  const std::string good = "<Error><Code>X</Code></Error>";
  ASSERT_TRUE(ReadXmlError(good));
  for (const std::string& body : std::vector<std::string>{
           good + good, good + "x", "<!DOCTYPE a>" + good, "<!-- a -->" + good,
           "<?xml version=\"1.0\"" + good, "<Error><Code>X</Message></Error>",
           "<Error><Code>&x;</Code></Error>", "<Error><Code>&amp</Code></Error>",
           "<Error><Code><![CDATA[X]]></Code></Error>", "<Error a<b><Code>X</Code></Error>",
           "<Error\"a\"><Code>X</Code></Error>", "</Error>", "<>", "<"}) {
    EXPECT_FALSE(ReadXmlError(body)) << body;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ReadXmlError(good.substr(0, size))) << size;
  }
}

TEST(ReadXmlError, IsBounded) {
  const auto deep = [](std::size_t depth) {
    std::string in, out;
    for (std::size_t i = 0; i < depth; ++i) {
      in += "<a>";
      out += "</a>";
    }
    return Wrapped("<Error><Code>X</Code></Error>" + in + out);
  };
  EXPECT_TRUE(ReadXmlError(deep(7)));
  EXPECT_FALSE(ReadXmlError(deep(8)));
  EXPECT_FALSE(ReadXmlError(deep(1000)));
  const auto long_one = [](std::size_t blanks) {
    return "<Error><Code>X</Code></Error>" + std::string(blanks, ' ');
  };
  EXPECT_TRUE(ReadXmlError(long_one(16'000)));
  EXPECT_FALSE(ReadXmlError(long_one(17'000)));
}

// Fails if: Decoded leaves a reference unchanged.
RC_GTEST_PROP(ReadXmlErrorProperty, GivesBackWhatWasWritten, (const std::string& message)) {
  std::string escaped;
  for (const char c : message) {
    escaped += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  const auto error =
      ReadXmlError("<Error><Code>X</Code><Message>" + escaped + "</Message></Error>");
  RC_ASSERT(error.has_value());
  RC_ASSERT(error->message == message);
}

}  // namespace
}  // namespace weir
