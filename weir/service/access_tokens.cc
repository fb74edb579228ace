#include "weir/service/access_tokens.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <set>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/codec/sha256.h"
#include "weir/model/yaml_checks.h"

namespace weir::service {
namespace {

constexpr std::size_t kMaxTokens = 1'000;
constexpr std::array<std::string_view, 1> kFileKeys = {"tokens"};
constexpr std::array<std::string_view, 4> kTokenKeys = {"name", "sha256", "scopes", "expires"};
constexpr std::array<std::string_view, 2> kScopeNames = {"decide", "admin"};
constexpr char kHashForm[] = "64 hexadecimal digits, as sha256sum prints for the token";

// The scheme is case-insensitive, and spaces follow it (RFC 9110, 11.1 and 11.4).
std::optional<std::string_view> BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer";
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  const auto is_same = [](char a, char b) { return (a | 0x20) == b; };
  if (!std::ranges::equal(scheme, kScheme, is_same)) return std::nullopt;
  const std::string_view rest = authorization.substr(kScheme.size());
  const std::size_t begin = rest.find_first_not_of(' ');
  if (begin == 0 || begin == std::string_view::npos) return std::nullopt;
  return rest.substr(begin);
}

int DigitOf(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

std::optional<std::array<char, 32>> ParseHash(std::string_view text) {
  std::array<char, 32> hash{};
  if (text.size() != 2 * hash.size()) return std::nullopt;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const int high = DigitOf(text[2 * i]);
    const int low = DigitOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<char>(high * 16 + low);
  }
  return hash;
}

/// Reads the tokens of one file.
class TokensReader {
 public:
  explicit TokensReader(std::string_view file_name) : checks_(file_name) {}

  Result<std::vector<AccessToken>> Read(const YamlNode& root) {
    WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(root, "the file", kFileKeys));
    const YamlEntry* list = Find(root, "tokens");
    if (list == nullptr)
      return checks_.Refuse(root.line, "the file has no tokens", "tokens: [...]");
    WEIR_RETURN_IF_ERROR(
        checks_.Expect(YamlNode::Kind::kSequence, *list->value, "tokens", "a list of tokens"));
    if (list->value->elements.size() > kMaxTokens) {
      return checks_.Refuse(list->value->line, "there are too many tokens",
                            fmt::format("at most {}", kMaxTokens));
    }
    std::vector<AccessToken> tokens;
    for (const YamlNode* element : list->value->elements) {
      WEIR_ASSIGN_OR_RETURN(AccessToken token, ReadToken(*element));
      tokens.push_back(std::move(token));
    }
    return tokens;
  }

 private:
  Result<AccessToken> ReadToken(const YamlNode& node) {
    WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(node, "a token", kTokenKeys));
    AccessToken token;
    WEIR_ASSIGN_OR_RETURN(token.name, TextOf(node, "name", "a name for logs"));
    if (!names_.insert(token.name).second) {
      return checks_.Refuse(node.line, fmt::format("two tokens are called '{}'", token.name),
                            "a name for each");
    }
    WEIR_ASSIGN_OR_RETURN(const std::string hash, TextOf(node, "sha256", kHashForm));
    const auto parsed = ParseHash(hash);
    if (!parsed) {
      return checks_.Refuse(Find(node, "sha256")->value->line, "sha256 is malformed", kHashForm);
    }
    token.sha256 = *parsed;
    if (!hashes_.insert(token.sha256).second) {
      return checks_.Refuse(node.line,
                            fmt::format("'{}' is a token that is listed above", token.name),
                            "one entry with all of its scopes");
    }
    WEIR_RETURN_IF_ERROR(ReadScopes(node, token));
    WEIR_RETURN_IF_ERROR(ReadExpiry(node, token));
    return token;
  }

  Status ReadScopes(const YamlNode& node, AccessToken& token) {
    const YamlEntry* scopes = Find(node, "scopes");
    if (scopes == nullptr || scopes->value->kind != YamlNode::Kind::kSequence) {
      return checks_.Refuse(node.line, "a token has no scopes", "scopes: [decide]");
    }
    for (const YamlNode* scope : scopes->value->elements) {
      WEIR_RETURN_IF_ERROR(checks_.ExpectWord(*scope, "a scope", kScopeNames));
      token.scopes.push_back(scope->text == "admin" ? AccessScope::kAdmin : AccessScope::kDecide);
    }
    return {};
  }

  Status ReadExpiry(const YamlNode& node, AccessToken& token) {
    const YamlEntry* expires = Find(node, "expires");
    if (expires == nullptr) return {};
    token.expires = dynamo::ParseIso(expires->value->text);
    if (token.expires) return {};
    return checks_.Refuse(expires->value->line, "expires is malformed", "2027-01-31T00:00:00Z");
  }

  Result<std::string> TextOf(const YamlNode& node, std::string_view key, std::string_view right) {
    const YamlEntry* entry = Find(node, key);
    if (entry == nullptr || entry->value->kind != YamlNode::Kind::kScalar ||
        entry->value->text.empty()) {
      return checks_.Refuse(node.line, fmt::format("a token has no {}", key), right);
    }
    return entry->value->text;
  }

  YamlChecks checks_;
  std::set<std::string> names_;
  std::set<std::array<char, 32>> hashes_;
};

}  // namespace

Status AccessTokens::Check(std::string_view authorization, AccessScope scope,
                           UnixMillis now) const {
  const std::optional<std::string_view> bearer = BearerToken(authorization);
  if (!bearer) {
    return Fail(Code::kUnauthenticated,
                "this server requires a token: authorization must be 'Bearer TOKEN'");
  }
  WEIR_ASSIGN_OR_RETURN(const internal::Sha256Digest hash, internal::Sha256({*bearer}));
  const AccessToken* found = nullptr;
  for (const AccessToken& token : tokens_) {
    if (CRYPTO_memcmp(token.sha256.data(), hash.bytes.data(), token.sha256.size()) == 0)
      found = &token;
  }
  if (found == nullptr) return Fail(Code::kUnauthenticated, "the token is unknown");
  if (found->expires && now >= *found->expires) {
    return Fail(Code::kUnauthenticated, fmt::format("the token '{}' has expired", found->name));
  }
  if (std::ranges::find(found->scopes, scope) != found->scopes.end()) return {};
  return Fail(Code::kPermissionDenied,
              fmt::format("the token '{}' lacks the scope {}", found->name,
                          kScopeNames[scope == AccessScope::kAdmin ? 1 : 0]));
}

bool AccessTokens::HasTokenFor(AccessScope scope) const {
  return std::ranges::any_of(tokens_, [scope](const AccessToken& token) {
    return std::ranges::find(token.scopes, scope) != token.scopes.end();
  });
}

Result<AccessTokens> ParseAccessTokens(std::string_view text, std::string_view file_name) {
  WEIR_ASSIGN_OR_RETURN(const YamlTree tree, ParseYaml(text, file_name));
  if (tree.root == nullptr) {
    return YamlChecks(file_name).Refuse(1, "the file is empty", "tokens: [...]");
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<AccessToken> tokens, TokensReader(file_name).Read(*tree.root));
  return AccessTokens(std::move(tokens));
}

}  // namespace weir::service
