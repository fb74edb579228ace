#include "weir/model/stored_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/model/audit_event.h"
#include "weir/model/entity.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr TextRule kShortName = {.what = "name", .longest = 8};

std::string TextRefusal(const Status& status) {
  if (status) return "it was accepted";
  EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(status.error().message, Not(HasSubstr("\n")));
  return status.error().message;
}

TEST(StoredText, Utf8IsWhatTheStandardSays) {
  for (const char* text : {"", "acme", "M\xc3\xbcnchen", "\xe2\x82\xac", "\xf0\x9f\x92\xa7",
                           "\xed\x9f\xbf", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const char* text :
       {"M\xfcnchen", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\xaf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "a\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(StoredText, ARefusalSaysWhereAndWhatWouldBeRight) {
  EXPECT_TRUE(CheckText(kShortName, "M\xc3\xbcnchn"));
  EXPECT_THAT(TextRefusal(CheckText(kShortName, "")), HasSubstr("name '' is empty"));
  EXPECT_THAT(TextRefusal(CheckText(kShortName, "acme-corp")), HasSubstr("is 9 bytes long"));
  EXPECT_THAT(TextRefusal(CheckText(kShortName, "M\xfcn")),
              AllOf(HasSubstr("name 'M\\xfcn' is not UTF-8 at position 2"),
                    HasSubstr("expected 1 to 8 bytes of UTF-8")));
  EXPECT_THAT(TextRefusal(CheckText(kShortName, "a\x1b[2J")),
              HasSubstr("control character at position 2"));
  EXPECT_THAT(TextRefusal(CheckText(kShortName, "a\xc2\x9b")),
              HasSubstr("control character at position 2"));
  EXPECT_THAT(TextRefusal(CheckText(kShortName, std::string_view("a\0b", 3))),
              HasSubstr("position 2"));
}

TEST(StoredText, LinesAreAllowedIfTheRuleSaysSo) {
  constexpr TextRule kLines = {.what = "text", .longest = 8, .may_have_lines = true};
  EXPECT_TRUE(CheckText(kLines, "a\tb\r\nc"));
  EXPECT_FALSE(CheckText(kShortName, "a\tb"));
  EXPECT_FALSE(CheckText(kLines, "a\vb"));
}

// Fails if: a byte that is not UTF-8, or a control character, is accepted anywhere in a text.
RC_GTEST_PROP(StoredTextProperty, AnyBytesAreRefusedOrArePrintableUtf8, (std::string bytes)) {
  const Status status = CheckText({.what = "text", .longest = 1'000'000}, bytes);
  if (!status) {
    RC_ASSERT(status.error().message.find_first_of("\n\r\x1b") == std::string::npos);
    return;
  }
  RC_ASSERT(IsUtf8(bytes));
  for (const char c : bytes) {
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
    RC_ASSERT(c != '\x7f');
  }
}

// Regression test: one byte of Latin-1 in metadata made a file unreadable.
TEST(StoredText, C1TheTextsOfAnEntityAreChecked) {
  const auto with = [](auto change) {
    Entity entity{.id = "acme", .name = "Acme"};
    change(entity);
    return weir::Check(entity);
  };
  EXPECT_TRUE(with([](Entity& e) { e.metadata = {{"city", "M\xc3\xbcnchen\nBayern"}}; }));
  EXPECT_THAT(TextRefusal(with([](Entity& e) { e.metadata = {{"city", "M\xfcnchen"}}; })),
              HasSubstr("entity acme: metadata value 'M\\xfcnchen' is not UTF-8 at position 2"));
  EXPECT_THAT(TextRefusal(with([](Entity& e) { e.metadata = {{"c\xfc", "x"}}; })),
              HasSubstr("metadata key"));
  EXPECT_THAT(TextRefusal(with([](Entity& e) { e.metadata = {{"", "x"}}; })),
              HasSubstr("is empty"));
  EXPECT_THAT(TextRefusal(with([](Entity& e) { e.name = "M\xfcller"; })),
              HasSubstr("entity acme: name 'M\\xfcller'"));
  EXPECT_THAT(TextRefusal(with([](Entity& e) { e.name = "a\x1b[31m"; })), HasSubstr("control"));
  EXPECT_THAT(TextRefusal(with([](Entity& e) { e.name.assign(kLongestEntityName + 1, 'a'); })),
              HasSubstr("257 bytes"));
  EXPECT_FALSE(with([](Entity& e) { e.parent = "a b"; }));
  EXPECT_THAT(TextRefusal(with([](Entity& e) {
                for (char key = 'a'; key < 'f'; ++key) {
                  e.metadata[std::string(1, key)].assign(kLongestMetadataValue, 'x');
                }
              })),
              HasSubstr("metadata of 81925 bytes"));
}

TEST(StoredText, C1TheDetailsOfAnAuditEventAreChecked) {
  EXPECT_TRUE(CheckDetails({{"limits", {AuditDetail::List{{std::string("rpm:1")}}}}}));
  EXPECT_THAT(TextRefusal(CheckDetails({{"why", {std::string("M\xfcll")}}})),
              HasSubstr("not UTF-8"));
  EXPECT_THAT(TextRefusal(CheckDetails({{"w\xfc", {true}}})), HasSubstr("name of an audit detail"));
  EXPECT_THAT(TextRefusal(CheckDetails({{"a", {AuditDetail::List{{std::string("\xff")}}}}})),
              HasSubstr("not UTF-8"));
  AuditDetail::Parts parts;
  for (int i = 0; i < 9; ++i) parts[std::to_string(i)] = {std::string(kLongestDetail, 'x')};
  EXPECT_THAT(TextRefusal(CheckDetails(parts)), HasSubstr("more than 131072 bytes"));
}

TEST(StoredText, C1DetailsAreNotNestedWithoutEnd) {
  const auto nested = [](std::size_t depth) {
    AuditDetail::Parts parts;
    for (std::size_t i = 1; i < depth; ++i) {
      AuditDetail::Parts outer;
      outer["a"].value = std::move(parts);
      parts = std::move(outer);
    }
    return CheckDetails(parts);
  };
  EXPECT_TRUE(nested(kDeepestDetail));
  EXPECT_THAT(TextRefusal(nested(kDeepestDetail + 1)), HasSubstr("nested deeper than 16"));
}

}  // namespace
}  // namespace weir
