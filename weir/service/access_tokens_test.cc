#include "weir/service/access_tokens.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "weir/codec/sha256.h"

namespace weir::service {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr UnixMillis kToday{1'767'225'600'000};  // 2026-01-01

std::string HashOf(std::string_view token) {
  const auto digits = internal::HexOf(*internal::Sha256({token}));
  return {digits.begin(), digits.end()};
}

std::string OneToken(std::string_view more) {
  return fmt::format("tokens:\n  - {{name: envoy, sha256: {}{}}}\n", HashOf("secret"), more);
}

Status Check(const std::string& file, std::string_view authorization,
             AccessScope scope = AccessScope::kDecide) {
  return ParseAccessTokens(file, "tokens.yaml")->Check(authorization, scope, kToday);
}

Code CodeOf(const std::string& file, std::string_view authorization) {
  return Check(file, authorization).error().code;
}

TEST(AccessTokens, TheRightTokenIsAccepted) {
  EXPECT_TRUE(Check(OneToken(", scopes: [decide]"), "Bearer secret"));
}

TEST(AccessTokens, OtherTokensAreUnknown) {
  const std::string file = OneToken(", scopes: [decide]");
  for (const char* text : {"", "secret", "Basic secret", "Bearer", "Bearer ", "Bearer secre",
                           "Bearersecret", "Bearer secret ", "Bearer\tsecret"}) {
    EXPECT_EQ(CodeOf(file, text), Code::kUnauthenticated) << text;
  }
  EXPECT_THAT(Check(file, "Bearer hunter2").error().message, Not(HasSubstr("hunter2")));
}

TEST(AccessTokens, TheSchemeHasNoCaseAndSpacesMayFollow) {
  for (const char* text : {"bearer secret", "BEARER secret", "Bearer   secret"}) {
    EXPECT_TRUE(Check(OneToken(", scopes: [decide]"), text)) << text;
  }
}

TEST(AccessTokens, AHashMayBeInUpperCase) {
  std::string hash(HashOf("secret"));
  std::ranges::transform(hash, hash.begin(), [](char letter) { return std::toupper(letter); });
  EXPECT_TRUE(
      Check("tokens:\n  - {name: a, sha256: " + hash + ", scopes: [decide]}\n", "Bearer secret"));
}

// Fails if: of two entries of a token one counts, and the other looks as if it did.
TEST(AccessTokens, ATokenIsListedOnce) {
  const std::string twice =
      OneToken(", scopes: [decide]") +
      fmt::format("  - {{name: b, sha256: {}, scopes: [admin]}}\n", HashOf("secret"));
  EXPECT_THAT(ParseAccessTokens(twice, "tokens.yaml").error().message,
              AllOf(HasSubstr("tokens.yaml:3"), HasSubstr("'b' is a token that is listed above")));
}

// Fails if: the hash in the file is accepted in place of the token.
TEST(AccessTokens, TheHashIsNoToken) {
  EXPECT_FALSE(Check(OneToken(", scopes: [decide]"), "Bearer " + HashOf("secret")));
}

TEST(AccessTokens, AnExpiredTokenIsRefusedFromItsTimeOn) {
  EXPECT_TRUE(
      Check(OneToken(", scopes: [decide], expires: '2026-01-01T00:00:01Z'"), "Bearer secret"));
  EXPECT_EQ(
      CodeOf(OneToken(", scopes: [decide], expires: '2026-01-01T00:00:00Z'"), "Bearer secret"),
      Code::kUnauthenticated);
}

TEST(AccessTokens, ATokenHasItsScopesOnly) {
  const std::string file = OneToken(", scopes: [decide]");
  EXPECT_EQ(Check(file, "Bearer secret", AccessScope::kAdmin).error().code,
            Code::kPermissionDenied);
  EXPECT_EQ(CodeOf(OneToken(", scopes: []"), "Bearer secret"), Code::kPermissionDenied);
}

TEST(AccessTokens, AFileGrantsTheScopesOfItsTokens) {
  const auto grants = [](const std::string& file, AccessScope scope) {
    return ParseAccessTokens(file, "tokens.yaml")->HasTokenFor(scope);
  };
  EXPECT_FALSE(grants("tokens: []\n", AccessScope::kDecide));
  EXPECT_FALSE(grants(OneToken(", scopes: [admin]"), AccessScope::kDecide));
  EXPECT_TRUE(grants(OneToken(", scopes: [admin]"), AccessScope::kAdmin));
  EXPECT_TRUE(grants(OneToken(", scopes: [admin, decide]"), AccessScope::kDecide));
}

TEST(AccessTokens, ErrorsNameTheLineAndNotTheHash) {
  const auto error = [](const std::string& text) {
    const auto tokens = ParseAccessTokens(text, "tokens.yaml");
    return tokens ? "" : tokens.error().message;
  };
  EXPECT_THAT(error(""), HasSubstr("tokens.yaml:1: the file is empty; expected tokens"));
  EXPECT_THAT(error("tokens:\n  - name: a\n    sha256: deadbeef\n    scopes: [decide]\n"),
              HasSubstr("tokens.yaml:3: sha256 is malformed"));
  EXPECT_THAT(
      error("tokens:\n  - {name: a, sha256: deadbeef, scopes: [decide]}\n"),
      AllOf(HasSubstr("tokens.yaml:2"), HasSubstr("64 hexadecimal"), Not(HasSubstr("deadbeef"))));
  EXPECT_THAT(error(OneToken("")), HasSubstr("no scopes"));
  EXPECT_THAT(error(OneToken(", scopes: [read]")), HasSubstr("decide or admin"));
  EXPECT_THAT(error(OneToken(", scopes: [decide], until: now")), HasSubstr("unknown key"));
  EXPECT_THAT(error(OneToken(", scopes: [decide], expires: soon")), HasSubstr("malformed"));
  const std::string twice = OneToken(", scopes: [decide]");
  EXPECT_THAT(error(twice + twice.substr(twice.find('\n') + 1)), HasSubstr("two tokens"));
}

}  // namespace
}  // namespace weir::service
