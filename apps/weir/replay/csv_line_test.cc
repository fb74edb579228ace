#include "apps/weir/replay/csv_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <regex>
#include <string>

namespace weir::app {
namespace {

using testing::ElementsAre;

CsvFields FieldsOf(std::string_view line) {
  auto fields = SplitCsvLine(line);
  return fields ? *std::move(fields) : CsvFields{"error: " + fields.error().message};
}

TEST(SplitCsvLine, FieldsMayBeInQuotes) {
  EXPECT_THAT(FieldsOf("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(FieldsOf(""), ElementsAre(""));
  EXPECT_THAT(FieldsOf(",\"\","), ElementsAre("", "", ""));
  EXPECT_THAT(FieldsOf(R"("when",tenant,"a,b","""x"" y")"),
              ElementsAre("when", "tenant", "a,b", R"("x" y)"));
}

TEST(SplitCsvLine, OtherQuotesAreRefused) {
  EXPECT_THAT(FieldsOf(R"(a,"b)"),
              ElementsAre("error: field 2 has no closing quote in its line; write one, and no line "
                          "break in a field"));
  EXPECT_THAT(FieldsOf(R"("a"b,c)"),
              ElementsAre("error: field 1 goes on after its closing quote; write \"\" for a quote "
                          "in the field"));
  EXPECT_THAT(FieldsOf(R"(a, "b")"),
              ElementsAre("error: field 2 has a quote and does not begin with one; write it in "
                          "quotes, with \"\" for a quote"));
}

/// Returns the fields by the grammar of RFC 4180, section 2; nothing if the line is not of it.
std::optional<CsvFields> FieldsByGrammar(const std::string& line) {
  static const std::regex field("(?:\"((?:[^\"]|\"\")*)\"|([^\",]*))(,|$)");
  CsvFields fields;
  std::smatch match;
  for (auto at = line.begin();; at = match[0].second) {
    constexpr auto kHere = std::regex_constants::match_continuous;
    if (!std::regex_search(at, line.end(), match, field, kHere)) return std::nullopt;
    fields.push_back(std::regex_replace(match.str(1), std::regex("\"\""), "\"") + match.str(2));
    if (match.length(3) == 0) return fields;
  }
}

// Fails if: a quote, a pair of quotes or a comma is taken for another.
RC_GTEST_PROP(SplitCsvLineProperty, FollowsTheGrammar, ()) {
  const std::string line =
      *rc::gen::container<std::string>(rc::gen::element('"', '"', ',', 'a', ' '));
  const auto expected = FieldsByGrammar(line);
  const auto fields = SplitCsvLine(line);
  RC_CLASSIFY(expected.has_value(), "is of the grammar");
  RC_ASSERT(fields.has_value() == expected.has_value());
  if (expected) RC_ASSERT(*fields == *expected);
}

// Fails if: a field that a program writes in quotes is read as another text.
RC_GTEST_PROP(SplitCsvLineProperty, ReadsWhatIsWrittenInQuotes, ()) {
  const auto any_text =
      rc::gen::container<std::string>(rc::gen::element('"', ',', 'a', '\xc3', '\xbc'));
  const auto fields = *rc::gen::nonEmpty(rc::gen::container<CsvFields>(any_text));
  std::string line;
  for (const std::string& field : fields) {
    line += (line.empty() ? "\"" : ",\"");
    for (const char c : field) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  RC_ASSERT(FieldsOf(line) == fields);
}

TEST(NextCsvLine, TakesBothLineEnds) {
  std::string_view text =
      "\xef\xbb\xbf"
      "a\r\nb\n\nc";
  RemoveByteOrderMark(text);
  EXPECT_EQ(NextCsvLine(text), "a");
  EXPECT_EQ(NextCsvLine(text), "b");
  EXPECT_EQ(NextCsvLine(text), "");
  EXPECT_EQ(NextCsvLine(text), "c");
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace weir::app
