// Bearer tokens of callers. Format of the file: docs/design/service.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::service {

enum class AccessScope { kDecide, kAdmin };

/// One token of the file. The token itself is not stored.
struct AccessToken {
  std::string name;
  std::array<char, 32> sha256{};
  std::vector<AccessScope> scopes;
  std::optional<UnixMillis> expires;
};

/// The tokens that the server accepts. Immutable; any thread.
class AccessTokens {
 public:
  explicit AccessTokens(std::vector<AccessToken> tokens) : tokens_(std::move(tokens)) {}

  /// Checks the value of an `authorization` header, "Bearer TOKEN". Returns kUnauthenticated if the
  /// token is missing, unknown or expired at `now`, and kPermissionDenied if it lacks the scope.
  /// Messages never contain the token. The time of a check does not depend on which token matches.
  [[nodiscard]] Status Check(std::string_view authorization, AccessScope scope,
                             UnixMillis now) const;
  /// Returns whether a token, expired or not, has the scope.
  bool HasTokenFor(AccessScope scope) const;
  std::size_t size() const { return tokens_.size(); }

 private:
  const std::vector<AccessToken> tokens_;
};
using AccessTokensPtr = std::shared_ptr<const AccessTokens>;

/// Parses a tokens file. Errors are kInvalidArgument, `file_name:line: problem; remedy`, without
/// the hashes.
[[nodiscard]] Result<AccessTokens> ParseAccessTokens(std::string_view text,
                                                     std::string_view file_name);

}  // namespace weir::service
