// Which table, where, and which of its namespaces: a URL and what the environment adds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::dynamo {

struct DynamoUrl {
  std::string table;
  std::string region;          ///< empty: as AWS's environment and profile say
  std::string endpoint;        ///< `http://localhost:8000`; empty: AWS's own of the region
  std::string namespace_name;  ///< a name, or `id:` and an id: see Namespaces::Resolve

  friend bool operator==(const DynamoUrl&, const DynamoUrl&) = default;
};

/// A variable's value, or nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads `dynamodb://TABLE`, `dynamodb:TABLE` or `dynamodb:`, each perhaps followed by
/// `?region=..&endpoint=..&namespace=..`. A table that is not named is ZAEL_STACK's, else
/// "zae-limiter"; a namespace that is not named is ZAEL_NAMESPACE's, else "default"; variables that
/// are empty count as not set. Bytes may be written as %XX; a plus sign is one.
///
/// kInvalidArgument, in one line, for anything else, as CheckTableName, and for query keys that are
/// unknown or come twice.
[[nodiscard]] Result<DynamoUrl> ParseDynamoUrl(std::string_view url,
                                               const Environment& environment);

/// Tables and indexes are named by DynamoDB's rule: 3 to 255 letters, digits, `_.-`.
/// kInvalidArgument otherwise.
[[nodiscard]] Status CheckTableName(std::string_view table);

/// As a URL that reads back as the same value.
std::string ToText(const DynamoUrl& url);

}  // namespace weir::dynamo
