// The names and keys of rate-limiter-py's three tables.
//
// Source: rate-limiter-py 0.3.0, its README ("table schema") and validate_table_env_fallback.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamodb/service_url.h"
#include "weir/dynamodb/table_key.h"
#include "weir/dynamodb/table_layout.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir::rate_limiter_py {

/// Names of attributes, as rate-limiter-py's clients use them.
inline constexpr std::string_view kResourceName = "resourceName";
inline constexpr std::string_view kAccountId = "accountId";
inline constexpr std::string_view kTokens = "tokens";
inline constexpr std::string_view kLastRefill = "lastRefill";  ///< ms since 1970
inline constexpr std::string_view kLastToken = "lastToken";    ///< ms since 1970
inline constexpr std::string_view kLimit = "limit";
inline constexpr std::string_view kWindowSec = "windowSec";
inline constexpr std::string_view kServiceName = "serviceName";
inline constexpr std::string_view kCoordinate = "resourceCoordinate";  ///< resource ':' account
inline constexpr std::string_view kReservationId = "reservationId";
inline constexpr std::string_view kResourceId = "resourceId";
inline constexpr std::string_view kExpirationTime = "expirationTime";  ///< s since 1970

struct TableNames {
  std::string tokens;          ///< FUNGIBLE_TABLE, or the base name and "fungible-tokens"
  std::string limits;          ///< LIMIT_TABLE, "limits"
  std::string slots;           ///< NON_FUNGIBLE_TABLE, "non-fungible-tokens"
  std::string resource_index;  ///< the index of the slots by resource: NON_FUNGIBLE_RES_INDEX,
                               ///< "resource-index"
  std::string service_index;   ///< the index of the limits by service: LIMIT_SERVICE_INDEX,
                               ///< "limits-service-index"

  friend bool operator==(const TableNames&, const TableNames&) = default;
};

/// Returns the names of the tables. If `base` is given, each name is `base`, a '-' unless `base`
/// ends in one, and the suffix, and the environment is not read. If `base` is empty, names are
/// found in the same way as by rate-limiter-py's clients: in the name's own variable if that is
/// set, else from LIMITER_TABLES_BASE_NAME and the suffix. Returns kInvalidArgument with the
/// variables if a name is missing or violates DynamoDB's rule (3 to 255 letters, digits, `_.-`).
[[nodiscard]] Result<TableNames> FindNames(std::string_view base,
                                           const dynamo::Environment& environment);

/// Returns whether one of the variables that FindNames reads for an empty base is set and not
/// empty.
bool NamesTables(const dynamo::Environment& environment);

/// The three layouts, billed by request.
struct TableLayouts {
  dynamo::TableLayout tokens;
  dynamo::TableLayout limits;  ///< with the index of services
  dynamo::TableLayout slots;   ///< with the index of resource ids
};
TableLayouts LayoutsOf(const TableNames& names);

/// Returns the key of an account's row in the tables of tokens and of limits.
dynamo::TableKey TableKeyOf(const AccountKey& key);

/// Returns resource ':' account, unescaped, as rate-limiter-py's clients build it. Two keys may
/// share one coordinate.
std::string Coordinate(std::string_view resource, std::string_view account);

}  // namespace weir::rate_limiter_py
