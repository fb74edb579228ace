// URLs of tables: SCHEME://NAME?region=..&endpoint=..
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::dynamo {

struct UrlForm {
  std::string_view scheme;  ///< with its colon
  std::string_view advice;  ///< "write ...", which ends each error
  bool has_namespace = false;
};

/// A part that the URL does not hold is empty.
struct ServiceUrl {
  std::optional<std::string> name;
  std::optional<std::string> region;
  std::optional<std::string> endpoint;
  std::optional<std::string> namespace_name;
};

/// Reads `SCHEME://NAME`, `SCHEME:NAME` or `SCHEME:`, each optionally followed by
/// `?region=..&endpoint=..`, and `&namespace=..` if the form has one. Bytes may be written as %XX;
/// a plus sign is one. Region and endpoint are checked; the name and the namespace are not.
///
/// kInvalidArgument, in one line, for anything else, and for query keys that are unknown, empty or
/// repeated.
[[nodiscard]] Result<ServiceUrl> ReadServiceUrl(std::string_view url, const UrlForm& form);

/// Letters, digits and `_.-`: the characters of names of tables, and those that a URL never
/// escapes.
bool IsNameCharacter(char c);

/// With %XX for all bytes but IsNameCharacter's, ':' and '/'.
std::string EncodeForUrl(std::string_view text);

}  // namespace weir::dynamo
