#include "apps/weir/replay/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace weir::app {
namespace {

using testing::HasSubstr;

constexpr UnixMillis kWholeSecond{1'700'158'546'000};

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Counts characters, not bytes.
std::size_t WidthOf(const std::string& line) {
  std::size_t width = 0;
  for (const char c : line) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return width;
}

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Plot, FitsAHundredColumnsHoweverLongTheTime) {
  for (const std::int64_t span : {1LL, 999LL, 80'001LL, 3'600'000LL, 86'400'000LL * 30}) {
    const std::string text = Plot(
        std::vector<PlotPoint>{{kWholeSecond, 1'000}, {kWholeSecond + milliseconds(span), 1'000}},
        5'000);
    for (const std::string& line : Lines(text)) {
      EXPECT_LE(WidthOf(line), 100U) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(Plot, ARateAtTheTopFillsItsColumn) {
  // 1000 tokens in the first of two seconds: 60000 per minute, the end of the scale.
  const std::string text = Plot(
      std::vector<PlotPoint>{{kWholeSecond, 1'000'000}, {kWholeSecond + milliseconds(1500), 0}},
      1'000);
  const std::vector<std::string> lines = Lines(text);
  EXPECT_THAT(lines[1], HasSubstr("60000 |"));
  EXPECT_EQ(CountOf(text, "█"), 12U);
}

TEST(Plot, PartsOfARowAreEighths) {
  // 3000 per minute, the end of the scale, and 1632: 6.528 of 12 rows.
  const std::string text = Plot(
      std::vector<PlotPoint>{{kWholeSecond, 50'000}, {kWholeSecond + milliseconds(1500), 27'200}},
      1'000);
  EXPECT_EQ(CountOf(text, "█"), 12U + 6U);
  EXPECT_EQ(CountOf(text, "▄"), 1U);
}

TEST(Plot, TheLineStandsAtTheLimit) {
  const std::string text = Plot(
      std::vector<PlotPoint>{{kWholeSecond, 1'000}, {kWholeSecond + milliseconds(39'500), 1'000}},
      10'000'000);
  const std::vector<std::string> lines = Lines(text);
  // 10000 of 15000 is the bottom of the fourth row from the top.
  EXPECT_EQ(CountOf(lines[4], "─"), 40U);
  EXPECT_THAT(lines[4], HasSubstr("limit |"));
  EXPECT_EQ(CountOf(text, "─"), 40U);
  EXPECT_THAT(lines[0], HasSubstr("the line at 10000"));
}

TEST(Plot, WhatIsGivenBackLowersItsColumn) {
  const std::string given =
      Plot(std::vector<PlotPoint>{{kWholeSecond, 1'000'000}, {kWholeSecond, -1'000'000}}, 1'000);
  EXPECT_EQ(CountOf(given, "█"), 0U);
}

TEST(Plot, SaysWhenItBeginsAndEnds) {
  const std::string text =
      Plot(std::vector<PlotPoint>{{kWholeSecond, 1'000}, {kWholeSecond + milliseconds(159'000), 1}},
           1'000);
  EXPECT_THAT(text, HasSubstr("each column 2s"));
  EXPECT_THAT(text, HasSubstr("2023-11-16T18:15:46.000Z to 2023-11-16T18:18:26.000Z"));
}

}  // namespace
}  // namespace weir::app
