// The item of the usage of one entity on one resource in one window.
//
// Format: zae-limiter 0.17.0 (update_snapshot in zae_limiter_aggregator/processor.py).
// zae-limiter's clients show every attribute of type N as a counter, except their own
// `total_events` and `ttl`. Changes and additions of Weir:
//
//   SK, GSI2SK     end in "#daily" or "#monthly" for these windows. Without these ends, the hour at
//                  00:00, its day and, on the first, its month would share one item.
//   <limit>#limit  the counter of a limit whose name is that of another attribute.
//   w_own          S: present if Weir created the item of an hour at 00:00. Without it the item may
//                  contain the counts of the day, too.
//   w_s<k>         S: the sequence number, padded to 40 digits, of the last change of the bucket's
//                  shard k that is counted (design/aggregator.md).
//   w_rem          S: "<limit>=<millitokens>;...": consumption below a whole token that is not in
//                  the counters yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/dynamodb/table.h"
#include "weir/model/usage.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Identifies one item within a namespace.
struct UsageKey {
  std::string entity;
  std::string resource;
  UsageWindow window = UsageWindow::kHourly;
  UnixMillis start;
};

/// Returns the key of the item that Weir writes. REQUIRES: the start is in the years 0 to 9999.
TableKey KeyOfUsage(const Keys& keys, const UsageKey& usage);
/// Returns the key of an item that is read; if it is `mixed`, the key that zae-limiter's clients
/// use.
TableKey KeyOfUsage(const Keys& keys, const UsageKey& usage, bool mixed);
/// Returns the sort key in GSI2.
std::string IndexSortOfUsage(const UsageKey& usage, bool mixed);

/// Returns the attribute that counts the limit's tokens.
std::string CounterAttribute(std::string_view limit);
/// Returns the attribute that counts how often the soft limit was left in debt.
std::string OverdrawnAttribute(std::string_view limit);

/// Days from the end of its window until an item expires: the default of zae-limiter's aggregator.
inline constexpr std::int64_t kUsageRetentionDays = 90;

/// Returns true if zae-limiter's aggregator may have counted other windows in the item of this key:
/// an hour at 00:00.
bool MayBeMixed(const UsageKey& usage);

/// The state, before an update, of the item of an hour at 00:00. All other items: kOwn.
enum class UsageOrigin : std::uint8_t {
  kOwn,    ///< absent, or created by Weir: the update requires that, and marks the item
  kMixed,  ///< exists without the mark: the update does not add the mark
};
/// Returns an update that sets the attributes of the item besides its counters. If its condition
/// fails, OriginOf(the returned item) is the origin for the next try.
Write UsageUpdate(const Keys& keys, const UsageKey& usage, std::int64_t retention_days,
                  UsageOrigin origin);
UsageOrigin OriginOf(const UsageKey& usage, const std::optional<Item>& item);

/// Returns nothing for an item of another shape, as before version 0.9. Every number that is not
/// one of the record's own is the counter of the limit of that name.
std::optional<UsageSnapshot> ReadUsage(const Item& item);

}  // namespace weir::dynamo
