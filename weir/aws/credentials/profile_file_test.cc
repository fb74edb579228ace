#include "weir/aws/credentials/profile_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

ProfileFile Config(std::string_view text) {
  const Result<ProfileFile> file = ParseProfileFile(text, ProfileFileKind::kConfig, "config");
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  return file.value_or(ProfileFile());
}

std::string RefusalOf(std::string_view text) {
  const auto file = ParseProfileFile(text, ProfileFileKind::kConfig, "/home/a/.aws/config");
  if (file) return "read";
  EXPECT_EQ(file.error().code, Code::kInvalidArgument);
  return file.error().message;
}

TEST(ProfileFile, ReadsProfilesAndServices) {
  const ProfileFile file = Config(R"(# of the team
[default]
region = eu-west-1

[profile ci]
region=us-east-1
services = local

[services local]
dynamodb =
  endpoint_url = http://localhost:8000
kinesis =
	endpoint_url=http://localhost:4567
)");
  EXPECT_THAT(file.profiles.at("default"), ElementsAre(Pair("region", "eu-west-1")));
  EXPECT_THAT(file.profiles.at("ci"),
              ElementsAre(Pair("region", "us-east-1"), Pair("services", "local")));
  EXPECT_THAT(
      file.services.at("local"),
      ElementsAre(Pair("dynamodb", ""), Pair("dynamodb.endpoint_url", "http://localhost:8000"),
                  Pair("kinesis", ""), Pair("kinesis.endpoint_url", "http://localhost:4567")));
}

TEST(ProfileFile, CommentsBlanksAndCaseDoNotMatter) {
  const ProfileFile file = Config(
      "[ profile \t a ] ; the first\r\n"
      "  # indented\r\n"
      "REGION\t=  eu-west-1 # here\r\n"
      "endpoint_url = http://h/#x\r\n"
      ";[profile b]\r\n");
  EXPECT_THAT(file.profiles, ElementsAre(Pair("a", ElementsAre(Pair("endpoint_url", "http://h/#x"),
                                                               Pair("region", "eu-west-1")))));
}

TEST(ProfileFile, NamesMayBeQuotedAndHoldBlanks) {
  const ProfileFile file = Config("[profile \"a b\"]\n[profile 'c']\n[profile d e]\n");
  EXPECT_THAT(file.profiles,
              ElementsAre(Pair("a b", IsEmpty()), Pair("c", IsEmpty()), Pair("d e", IsEmpty())));
}

TEST(ProfileFile, TheCredentialsFileHasPlainNames) {
  const std::string text = "[default]\nregion = a\n[ci]\nregion = b\n[profile c]\nregion = c\n";
  const auto file = ParseProfileFile(text, ProfileFileKind::kCredentials, "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->profiles.at("ci").at("region"), "b");
  EXPECT_FALSE(file->profiles.contains("c"));
}

TEST(ProfileFile, SecretsAreNotKept) {
  const auto file = ParseProfileFile(
      "[default]\naws_access_key_id = AKID\naws_secret_access_key = S\n and more\nregion = a\n"
      "AWS_Session_Token =\n  token = S\nx =\n  aws_token = S\n",
      ProfileFileKind::kCredentials, "f");
  ASSERT_TRUE(file);
  EXPECT_THAT(file->profiles.at("default"), ElementsAre(Pair("region", "a"), Pair("x", "")));
}

TEST(ProfileFile, OtherSectionsArePassedOverWhateverTheyHold) {
  const ProfileFile file = Config(
      "[preview]\nno equals sign\n  = x\n[profilex]\nregion = a\n[sso-session s]\nx = y\n"
      "[profile a]\nregion = b\n");
  EXPECT_THAT(file.profiles, ElementsAre(Pair("a", ElementsAre(Pair("region", "b")))));
}

TEST(ProfileFile, TheLaterOneCounts) {
  const ProfileFile file = Config(
      "[default]\nregion = a\nservices = s\nregion = b\n[profile x]\n[profile default]\n"
      "region = c\n");
  EXPECT_THAT(file.profiles.at("default"), ElementsAre(Pair("region", "c"), Pair("services", "s")));
}

TEST(ProfileFile, AValueGoesOnInIndentedLines) {
  EXPECT_EQ(Config("[default]\na = one\n  two\nb = c\n").profiles.at("default").at("a"),
            "one\ntwo");
}

TEST(ProfileFile, RefusalsNameTheLineAndNotItsText) {
  const std::string where = "/home/a/.aws/config line ";
  EXPECT_EQ(RefusalOf("\n[profile a\n"), where + "2: the ']' of a [section] is missing");
  EXPECT_EQ(RefusalOf("[profile a] b\n"), where + "1: text after a [section]");
  EXPECT_EQ(RefusalOf("region = a\n"), where + "1: a setting before the first [section]");
  EXPECT_EQ(RefusalOf("[default]\n\nsecret\n"), where + "3: expected name = value");
  EXPECT_EQ(RefusalOf("[default]\n= secret\n"), where + "2: expected name = value");
  EXPECT_EQ(RefusalOf("[default]\n  a = b\n"),
            where + "2: an indented line that belongs to no setting");
  EXPECT_EQ(RefusalOf("[default]\na =\n  secret\n"), where + "3: expected name = value");
}

// Fails if: the text of a line is repeated in an error, or an indented comment continues a value.
RC_GTEST_PROP(ProfileFileProperty, LinesOfCommentChangeNothing, ()) {
  const auto lines = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "[default]", "[profile a]", "[services s]", "[other]", "[bad", "region = x", "k =", "  k = v",
      "secret", "  secret", "", "aws_secret_access_key = secret"));
  std::string plain, commented;
  for (const std::string& line : lines) {
    plain += line + "\n";
    commented += line + "\n# [profile c] = \n  ; k = v\n\n";
  }
  const auto one = ParseProfileFile(plain, ProfileFileKind::kConfig, "f");
  const auto other = ParseProfileFile(commented, ProfileFileKind::kConfig, "f");
  RC_ASSERT(one.has_value() == other.has_value());
  if (one) {
    RC_ASSERT(*one == *other);
  } else {
    RC_ASSERT(one.error().message.find("secret") == std::string::npos);
  }
}

}  // namespace
}  // namespace weir
