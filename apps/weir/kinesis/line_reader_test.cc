#include "apps/weir/kinesis/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>
#include <vector>

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns the lines; "*" for a line that is too long.
std::vector<std::string> LinesOf(const std::string& text, std::size_t longest) {
  std::istringstream in(text);
  LineReader reader(in, longest);
  std::vector<std::string> lines;
  for (LineReader::Got got; (got = reader.Next()) != LineReader::Got::kEnd;) {
    lines.push_back(got == LineReader::Got::kLine ? std::string(reader.line()) : "*");
    EXPECT_EQ(reader.number(), lines.size());
  }
  return lines;
}

TEST(LineReader, LinesAreWhatNewlinesEnd) {
  EXPECT_THAT(LinesOf("", 9), IsEmpty());
  EXPECT_THAT(LinesOf("a\n\nb\r\n", 9), ElementsAre("a", "", "b\r"));
  EXPECT_THAT(LinesOf("a\nlast", 9), ElementsAre("a", "last"));
  EXPECT_THAT(LinesOf(std::string("a\0b\n", 4), 9), ElementsAre(std::string("a\0b", 3)));
}

// U9. Fails if: a part of a long line is lost or repeated.
TEST(LineReader, U9WhatIsTooLongCanBeKept) {
  for (std::size_t size = 4; size < 20; ++size) {
    for (const std::string& end : {std::string("\n"), std::string()}) {
      const std::string line = std::string("abcdefghijklmnopqrstuvwxyz").substr(0, size);
      std::istringstream in("x\n" + line + end);
      std::ostringstream kept;
      LineReader reader(in, 3);
      reader.KeepTooLong([&]() -> std::ostream& { return kept; });
      EXPECT_EQ(reader.Next(), LineReader::Got::kLine);
      EXPECT_TRUE(reader.complete());
      EXPECT_EQ(reader.Next(), LineReader::Got::kTooLong);
      EXPECT_EQ(reader.complete(), !end.empty());
      EXPECT_EQ(kept.str(), line + "\n");
      EXPECT_EQ(reader.Next(), LineReader::Got::kEnd);
    }
  }
}

TEST(LineReader, WhatIsTooLongIsPassedOver) {
  EXPECT_THAT(LinesOf("abc\nabcd\nabcde\nabcdefghijkl\nabc\n", 3),
              ElementsAre("abc", "*", "*", "*", "abc"));
  for (const char* text : {"abcd", "abcde", "abcdef"}) {
    EXPECT_THAT(LinesOf(text, 3), ElementsAre("*")) << text;
  }
  EXPECT_THAT(LinesOf("abc", 3), ElementsAre("abc"));
}

TEST(LineReader, AStreamThatBreaksIsSeenToBeBroken) {
  std::istringstream in("a\nb\n");
  LineReader reader(in, 9);
  EXPECT_EQ(reader.Next(), LineReader::Got::kLine);
  in.setstate(std::ios::badbit);
  EXPECT_EQ(reader.Next(), LineReader::Got::kEnd);
  EXPECT_TRUE(reader.broken());
}

// Fails if: a line of the longest length is refused, or one byte more is accepted, with a newline
// or without, or the rest of a long line is read as the next line.
RC_GTEST_PROP(LineReaderProperty, CutsAsSplittingAtNewlinesDoes, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '\n'));
  const auto longest = *rc::gen::inRange<std::size_t>(1, 6);
  std::vector<std::string> expected;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    expected.push_back(line.size() > longest ? "*" : line);
  }
  RC_ASSERT(LinesOf(text, longest) == expected);
}

}  // namespace
}  // namespace weir::app
