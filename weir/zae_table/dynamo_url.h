// The URL of a store in DynamoDB: table, region, endpoint and namespace, with defaults from the
// environment.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamodb/service_url.h"

namespace weir::dynamo {

struct DynamoUrl {
  std::string table;
  std::string region;    ///< empty: from AWS's environment variables and profile
  std::string endpoint;  ///< e.g. `http://localhost:8000`; empty: AWS's endpoint of the region
  std::string namespace_name;  ///< a name, or `id:` and an id: see Namespaces::Resolve

  friend bool operator==(const DynamoUrl&, const DynamoUrl&) = default;
};

/// Reads `dynamodb://TABLE`, `dynamodb:TABLE` or `dynamodb:`, each optionally followed by
/// `?region=..&endpoint=..&namespace=..`. Without a TABLE, the variable ZAEL_STACK names the table;
/// if that is not set either, the table is "zae-limiter". Without a namespace, ZAEL_NAMESPACE names
/// the namespace; if that is not set either, the namespace is "default". An empty variable counts
/// as not set. Bytes may be written as %XX; a plus sign is not a space.
///
/// Returns kInvalidArgument, with a message of one line, for any other text, for a table name that
/// CheckTableName rejects, and for query keys that are unknown or repeated.
[[nodiscard]] Result<DynamoUrl> ParseDynamoUrl(std::string_view url,
                                               const Environment& environment);

/// Returns a URL that ParseDynamoUrl reads as the same value.
std::string ToText(const DynamoUrl& url);

}  // namespace weir::dynamo
