#include "weir/model/identifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Check = Status (*)(std::string_view);

std::string MessageOf(const Status& status) {
  return status ? "accepted" : std::string(status.error().message);
}

struct Rule {
  const char* what;
  Check check;
  std::string others;  // allowed after the first character, in addition to letters and digits
  bool digit_first;
  std::size_t longest;
};

const Rule kRules[] = {
    {"entity id", CheckEntityId, "_.-:@", true, 256},
    {"resource", CheckResource, "_.-/:", false, 64},  // Z4: zae-limiter 0.17 allows the colon
    {"limit name", CheckLimitName, "_.-", false, 64},
    {"namespace", CheckNamespace, "_.-", true, 64},
};

bool IsLetter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(int c) { return c >= '0' && c <= '9'; }

TEST(Identifier, EveryByteIsAllowedFirstOrNotByTheRule) {
  for (const Rule& rule : kRules) {
    for (int c = 0; c < 256; ++c) {
      const std::string name = {static_cast<char>(c), 'x'};
      const bool allowed = IsLetter(c) || (rule.digit_first && IsDigit(c));
      EXPECT_EQ(rule.check(name).has_value(), allowed) << rule.what << " " << c;
    }
  }
}

TEST(Identifier, EveryByteIsAllowedLaterOrNotByTheRule) {
  for (const Rule& rule : kRules) {
    for (int c = 0; c < 256; ++c) {
      const std::string name = {'x', static_cast<char>(c)};
      const bool allowed = IsLetter(c) || IsDigit(c) ||
                           (c != 0 && rule.others.find(static_cast<char>(c)) != std::string::npos);
      EXPECT_EQ(rule.check(name).has_value(), allowed) << rule.what << " " << c;
    }
  }
}

TEST(Identifier, LengthIsFromOneToTheLongest) {
  for (const Rule& rule : kRules) {
    EXPECT_THAT(MessageOf(rule.check("")), HasSubstr("is empty")) << rule.what;
    EXPECT_TRUE(rule.check("a")) << rule.what;
    EXPECT_TRUE(rule.check(std::string(rule.longest, 'a'))) << rule.what;
    EXPECT_THAT(MessageOf(rule.check(std::string(rule.longest + 1, 'a'))),
                HasSubstr(std::to_string(rule.longest + 1) + " bytes long"))
        << rule.what;
  }
}

TEST(Identifier, ARefusalNamesTheThingThePositionAndTheRule) {
  EXPECT_EQ(MessageOf(CheckEntityId("acme corp")),
            "entity id 'acme corp' has ' ' at position 5; expected a letter or digit, then "
            "letters, digits and _.-:@, at most 256 bytes");
  EXPECT_EQ(MessageOf(CheckLimitName("9lives")),
            "limit name '9lives' has '9' at position 1; expected a letter, then letters, "
            "digits and _.-, at most 64 bytes");
  EXPECT_EQ(CheckResource("a#b").error().code, Code::kInvalidArgument);
}

TEST(Identifier, ReservedNamesAreRefusedAndSaidToBe) {
  EXPECT_THAT(MessageOf(CheckLimitName("wcu")), HasSubstr("'wcu' is reserved"));
  EXPECT_THAT(MessageOf(CheckNamespace("_")), HasSubstr("'_' is reserved"));
  EXPECT_THAT(MessageOf(CheckResource("_default_")), HasSubstr("means all resources of an entity"));
  EXPECT_TRUE(CheckLimitName("WCU"));
  EXPECT_TRUE(CheckLimitName("wcu2"));
  EXPECT_TRUE(CheckResource("wcu"));
}

TEST(Identifier, ARefusalIsOneShortLineWhateverTheName) {
  const std::string name = "a\n\r\xd0\xb0" + std::string(100'000, '\t');
  for (const Rule& rule : kRules) {
    const std::string message = MessageOf(rule.check(name));
    EXPECT_THAT(message, AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\r")), HasSubstr("\\x0a")));
    EXPECT_LT(message.size(), 600U);
  }
  // A letter of another alphabet that looks like an ASCII letter is visible in the message.
  EXPECT_THAT(
      MessageOf(CheckResource("gpt-\xd0\xb0")),
      HasSubstr(
          "resource 'gpt-\xd0\xb0' has '\xd0\xb0' (U+0430), which is not ASCII, at position 5"));
}

}  // namespace
}  // namespace weir
