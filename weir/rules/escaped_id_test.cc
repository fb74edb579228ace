// Ids made of any bytes: valid, and different for different values.
#include "weir/rules/escaped_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "weir/model/identifier.h"
#include "weir/rules/id_template.h"
#include "weir/rules/rule.h"

namespace weir::rules {
namespace {

using ::testing::HasSubstr;

std::string IdOf(IdKind kind, std::string_view value, char separator = 0) {
  std::string text;
  AppendEscaped(text, kind, value, separator);
  return FinishId(kind, std::move(text));
}

bool IsValid(IdKind kind, const std::string& id) {
  return kind == IdKind::kEntity ? CheckEntityId(id).has_value() : CheckResource(id).has_value();
}

/// Returns all texts of at most `longest` of these bytes.
std::vector<std::string> TextsOf(std::string_view bytes, std::size_t longest) {
  std::vector<std::string> texts = {""};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == longest) break;
    for (const char byte : bytes) texts.push_back(texts[i] + byte);
  }
  return texts;
}

/// The bytes that escape sequences consist of, and some that must be escaped.
constexpr std::string_view kHostile{".:-_2EFx/@\0\xff", 12};

TEST(EscapedIdTest, OrdinaryNamesStayAsTheyAre) {
  for (const char* name : {"alice", "acme.example.com", "alice@example.com", "user:42", "10.0.0.1",
                           "2001:db8::1", "a..b", "a-_b"}) {
    EXPECT_EQ(IdOf(IdKind::kEntity, name), name);
  }
  EXPECT_EQ(IdOf(IdKind::kResource, "models/gpt-4.1"), "models/gpt-4.1");
}

TEST(EscapedIdTest, OtherBytesAreEscaped) {
  EXPECT_EQ(IdOf(IdKind::kEntity, "a b\xff/"), "a.:20b.:FF.:2F");
  EXPECT_EQ(IdOf(IdKind::kEntity, "a.:20b."), "a.:2E:20b.:2E");
  EXPECT_EQ(IdOf(IdKind::kEntity, ""), "x.:_");
  EXPECT_EQ(IdOf(IdKind::kEntity, "_a"), "x.:__a");
  EXPECT_EQ(IdOf(IdKind::kResource, "4"), "x.:_4");
  EXPECT_EQ(IdOf(IdKind::kResource, "_default_"), "x.:__default_");
}

// Fails if: a '.' before ':' or at the end is not escaped.
TEST(EscapedIdTest, NoTwoTextsHaveOneId) {
  for (const IdKind kind : {IdKind::kEntity, IdKind::kResource}) {
    for (const char separator : {'\0', ':', '-', '/'}) {
      std::set<std::string> ids;
      const auto texts = TextsOf(kHostile, 4);
      for (const std::string& text : texts) {
        const std::string id = IdOf(kind, text, separator);
        ASSERT_TRUE(IsValid(kind, id)) << id;
        ids.insert(id);
      }
      EXPECT_EQ(ids.size(), texts.size());
    }
  }
}

// Fails if: a value does not escape the separator that follows it.
TEST(EscapedIdTest, NoTwoPairsOfValuesHaveOneIdByATemplate) {
  const std::vector<EntryPattern> match = {{.key = "a"}, {.key = "b"}};
  const auto texts = TextsOf(kHostile.substr(0, 10), 2);
  for (const char* text :
       {"{a}:{b}", "{a}-{b}", "{a}_{b}", "x{a}:.-{b}y", "{a}@{b}", "r:{b}:{a}"}) {
    const auto made = IdTemplate::Parse(IdKind::kEntity, text, match);
    ASSERT_TRUE(made) << made.error().message;
    std::set<std::string> ids;
    for (const std::string& a : texts) {
      for (const std::string& b : texts) {
        const DescriptorEntry entries[] = {{"a", a}, {"b", b}};
        ids.insert(made->Expand(entries));
      }
    }
    EXPECT_EQ(ids.size(), texts.size() * texts.size()) << text;
  }
}

TEST(EscapedIdTest, NoTemplateYieldsTheIdOfARulesOwnBucket) {
  const std::vector<EntryPattern> match = {{.key = "a"}, {.key = "b"}};
  for (const char* text : {"{a}", "rule{a}", "r{a}:{b}", "{a}:_{b}", "rule-{a}"}) {
    const auto made = IdTemplate::Parse(IdKind::kEntity, text, match);
    for (const char* a : {"rule.:_user:x", "ule.", "rule.", ".:_", ":_", ".", "rule"}) {
      for (const char* b : {"_user", ":_user", "user", ""}) {
        const DescriptorEntry entries[] = {{"a", a}, {"b", b}};
        const std::string id = made->Expand(entries);
        EXPECT_FALSE(id.starts_with(kOwnPrefix)) << id;
      }
    }
  }
}

TEST(EscapedIdTest, TextsThatAreTooLongAreToldApartByAHash) {
  for (const IdKind kind : {IdKind::kEntity, IdKind::kResource}) {
    const std::size_t longest = LongestId(kind);
    const std::string full(longest, 'a');
    EXPECT_EQ(IdOf(kind, full), full);
    std::set<std::string> ids;
    for (const char last : {'a', 'b', '\0', '.'}) {
      const std::string id = IdOf(kind, full + last);
      EXPECT_EQ(id.size(), longest);
      EXPECT_TRUE(IsValid(kind, id));
      EXPECT_THAT(id, HasSubstr("aaa.:-"));
      ids.insert(id);
      EXPECT_EQ(IdOf(kind, full + last), id);
      // A text that reads like the shortened id is another text.
      EXPECT_NE(IdOf(kind, id), id);
    }
    EXPECT_EQ(ids.size(), 4U);
  }
  // SHA-256 of 257 letters, computed by sha256sum.
  EXPECT_THAT(IdOf(IdKind::kEntity, std::string(257, 'a')),
              HasSubstr(".:-e8d95cc2b4bc198c54b40bd214df958a"));
}

TEST(EscapedIdTest, TemplatesThatCannotKeepValuesApartAreRefused) {
  const std::vector<EntryPattern> match = {{.key = "a"}, {.key = "b"}, {.key = "c"}, {.key = "c"}};
  const auto refusal = [&](std::string_view text) {
    const auto made = IdTemplate::Parse(IdKind::kEntity, text, match);
    return made ? "accepted" : made.error().message;
  };
  EXPECT_THAT(refusal(""), HasSubstr("the entity is empty"));
  EXPECT_THAT(refusal("{a}{b}"), HasSubstr("two values with nothing between them; expected"));
  EXPECT_THAT(refusal("{a}.{b}"), HasSubstr("can be read as an escape sequence"));
  EXPECT_THAT(refusal("{a}x{b}"), HasSubstr("two values with 'x' between them"));
  EXPECT_THAT(refusal("rule.:_{a}"), HasSubstr("can be read as an escape sequence"));
  EXPECT_THAT(refusal("x.{a}"), HasSubstr("can be read as an escape sequence"));
  EXPECT_THAT(refusal("{d}"), HasSubstr("names 'd', which the pattern does not have"));
  EXPECT_THAT(refusal("{c}"), HasSubstr("names 'c', which the pattern has more than once"));
  EXPECT_THAT(refusal("{a"), HasSubstr("a '{' without '}'"));
  EXPECT_THAT(refusal("a}"), HasSubstr("has '}'"));
  EXPECT_THAT(refusal("a/{b}"), HasSubstr("has '/'"));
}

}  // namespace
}  // namespace weir::rules
