// The items in which zae-limiter before 0.8 stored one limit each.
//
// Format: zae-limiter, migrations/m_0_8_0_composite_limits.py and the writers before it:
// partition {ns}/SYSTEM# or {ns}/RESOURCE#{r} with the sort key #LIMIT#{L}, or {ns}/ENTITY#{e} with
// #LIMIT#{r}#{L}; numbers `capacity`, `burst`, `refill_amount` (whole tokens) and
// `refill_period_seconds`, in the item or, in the oldest items, in its map `data`.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamodb/table.h"
#include "weir/model/limit.h"
#include "weir/store/config/config_store.h"

namespace weir::dynamo {

/// The prefix of the sort keys of all these items, those of entities included.
inline constexpr std::string_view kLegacyLimitSort = "#LIMIT#";

/// A level in any namespace of the table.
struct NamespaceLevel {
  std::string namespace_id;
  Level level;

  friend auto operator<=>(const NamespaceLevel&, const NamespaceLevel&) = default;
};
/// Returns a text for users: "namespace abc, resource gpt-4".
std::string Describe(const NamespaceLevel& level);

struct LegacyKey {
  NamespaceLevel at;
  std::string limit;
};
/// Returns the level and limit that the item with this key belongs to; nothing if it is an item of
/// another kind, or its key has no namespace.
std::optional<LegacyKey> ParseLegacyKey(const TableKey& key);

/// Returns the prefix of the sort keys of the items of one level.
std::string LegacySortOf(const Level& level);

/// Returns the limit in the item. Its capacity is the stored `burst`, as in zae-limiter's
/// migration; `capacity` if there is no burst. kFailedPrecondition, with the item, if a number is
/// missing, not positive, or beyond Weir's range.
[[nodiscard]] Result<Limit> ReadLegacyLimit(const LegacyKey& key, const Item& item);

/// Returns the write that deletes the item. It fails if the item has changed since it was read.
Write DropLegacyLimit(const Item& item);

}  // namespace weir::dynamo
