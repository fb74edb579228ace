#include "weir/model/quoted.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "weir/model/stored_text.h"

namespace weir {
namespace {

TEST(QuotedTest, VisibleCharactersStay) {
  for (const std::string text :
       {"acme corp", "\xc3\xbcn", "\xe2\x82\xac 5", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x92\xa7",
        "e\xcc\x81", "'\\"}) {
    EXPECT_EQ(Quoted(text), "'" + text + "'");
  }
}

// Fails if: a character that is not visible, or changes the order of others, is shown unchanged.
TEST(QuotedTest, OtherBytesAreHexadecimal) {
  EXPECT_EQ(Quoted("a\n\tb\x7f"), "'a\\x0a\\x09b\\x7f'");
  EXPECT_EQ(Quoted("\xc2\x85"), "'\\xc2\\x85'");           // U+0085, a control character
  EXPECT_EQ(Quoted("\xc2\xa0"), "'\\xc2\\xa0'");           // U+00A0, a space
  EXPECT_EQ(Quoted("\xe2\x80\x8b"), "'\\xe2\\x80\\x8b'");  // U+200B, without width
  EXPECT_EQ(Quoted("\xe2\x80\xa8"), "'\\xe2\\x80\\xa8'");  // U+2028, a line separator
  EXPECT_EQ(Quoted("\xe2\x80\xae"), "'\\xe2\\x80\\xae'");  // U+202E, right to left
  EXPECT_EQ(Quoted("\xe2\x81\xa6"), "'\\xe2\\x81\\xa6'");  // U+2066, an isolate
  EXPECT_EQ(Quoted("\xef\xbb\xbf"), "'\\xef\\xbb\\xbf'");  // U+FEFF, the byte order mark
  EXPECT_EQ(Quoted("\xef\xb8\x8f"), "'\\xef\\xb8\\x8f'");  // U+FE0F, a variation selector
  EXPECT_EQ(Quoted("\xe3\x85\xa4"), "'\\xe3\\x85\\xa4'");  // U+3164, a filler
  EXPECT_EQ(Quoted("M\xfcnchen"), "'M\\xfcnchen'");
  EXPECT_EQ(Quoted("\xed\xa0\x80"), "'\\xed\\xa0\\x80'");
  EXPECT_EQ(PrintableAscii("\xc3\xbc~\x1f"), "\\xc3\\xbc~\\x1f");
}

TEST(QuotedTest, ALongTextIsCutBetweenCharacters) {
  const std::string text = std::string(79, 'x') + "\xc3\xbc";
  EXPECT_EQ(Quoted(text), "'" + std::string(79, 'x') + "...'");
  EXPECT_EQ(Quoted("x" + std::string(79, 'x')), "'" + std::string(80, 'x') + "'");
  EXPECT_EQ(Quoted(std::string(81, '\x80')).size(), 80U * 4 + 5);
}

// Fails if: the text is not valid UTF-8, which JSON and protobuf refuse, or has several lines.
RC_GTEST_PROP(QuotedProperty, IsOneLineOfUtf8, ()) {
  const std::string text = *rc::gen::container<std::string>(rc::gen::element(
      'a', '\n', '\xc3', '\xbc', '\xe2', '\x80', '\xa8', '\xae', '\xf0', '\x9f', '\xed', '\xa0'));
  for (const std::string& shown : {Quoted(text), Quoted(std::string(77, 'x') + text)}) {
    RC_ASSERT(IsUtf8(shown));
    RC_ASSERT(std::ranges::count(shown, '\n') == 0);
    RC_ASSERT(shown.find("\xe2\x80\xae") == std::string::npos);
  }
}

}  // namespace
}  // namespace weir
