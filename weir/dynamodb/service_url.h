// URLs of stores: SCHEME://NAME?region=..&endpoint=..
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::dynamo {

/// Returns the value of a variable, or nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct UrlForm {
  std::string_view scheme;  ///< with its colon
  std::string_view advice;  ///< "write ...": the end of errors about the form
  bool has_namespace = false;
  std::string_view what = "backend";  ///< what the URL names, for errors
};

/// The parts of a URL; nothing for a part that the URL does not contain.
struct ServiceUrl {
  std::optional<std::string> name;
  std::optional<std::string> region;
  std::optional<std::string> endpoint;
  std::optional<std::string> namespace_name;
};

/// Reads `SCHEME://NAME`, `SCHEME:NAME` or `SCHEME:`, each optionally followed by
/// `?region=..&endpoint=..`, and `&namespace=..` if the form has one. Bytes may be written as %XX;
/// a plus sign is not a space. Checks region and endpoint, but neither name nor namespace.
///
/// Returns kInvalidArgument, with a message of one line, for any other text, and for query keys
/// that are unknown, empty or repeated.
[[nodiscard]] Result<ServiceUrl> ReadServiceUrl(std::string_view url, const UrlForm& form);

/// Returns kInvalidArgument unless the name satisfies DynamoDB's rule for tables and indexes: 3 to
/// 255 letters, digits, `_.-`.
[[nodiscard]] Status CheckTableName(std::string_view table);

/// Returns true for letters, digits and `_.-`: the characters of names of tables, and those that a
/// URL never escapes.
bool IsNameCharacter(char c);

/// Returns the text with %XX for all bytes but IsNameCharacter's, ':' and '/'.
std::string EncodeForUrl(std::string_view text);

}  // namespace weir::dynamo
