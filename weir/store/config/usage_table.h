// Usage in the memory of one process.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/node_hash_map.h>

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/store/config/usage_store.h"
#include "weir/store/usage/counted_usage.h"

namespace weir {

/// Adds all counters to `sum`. Returns kOutOfRange, without a change, if a sum does not fit in 64
/// bits.
[[nodiscard]] Status AddTo(UsageSnapshot& sum, const UsageSnapshot& added);

/// The position in a listing: after the snapshot with this window and start and, as `open`, the
/// name that the filter leaves open: the resource if the filter names an entity, else the entity.
struct UsageCursor {
  UsageWindow window = UsageWindow::kHourly;
  UnixMillis start;
  std::string open;
};
UsageCursor PositionOf(const UsageFilter& filter, const UsageSnapshot& snapshot);
/// Returns true if `a` is before `b` in a listing. Windows with the same start are in alphabetical
/// order.
bool IsBefore(const UsageFilter& filter, const UsageCursor& a, const UsageCursor& b);
std::string CursorOf(const UsageFilter& filter, const UsageSnapshot& last);
/// Returns the position of a cursor that is not empty.
[[nodiscard]] Result<UsageCursor> ReadUsageCursor(const UsageFilter& filter,
                                                  const std::string& cursor);

/// Follows the rules of UsageStore. A value; not thread-safe: its owner locks. It has at most
/// UsageLimits::max_snapshots.
class UsageTable {
 public:
  explicit UsageTable(UsageLimits limits = {}) : limits_(limits) {}

  [[nodiscard]] Status Add(const UsageSnapshot& added);
  /// Adds counted hours of a bucket, and removes snapshots that have expired at `now`, or at the
  /// end of the latest of these hours if that is earlier, as in a replay.
  void AddHours(const BucketKey& key, std::span<const HourOfUse> hours, UnixMillis now);
  UsageStats stats() const { return stats_; }
  [[nodiscard]] Result<Page<UsageSnapshot>> List(const UsageFilter& filter,
                                                 const PageRequest& page) const;

 private:
  using Key = std::tuple<std::string, std::string, UnixMillis, UsageWindow>;
  using PairKey = std::pair<std::string, std::string>;  // an entity and a resource
  struct Hash {
    std::size_t operator()(const Key& key) const;
    std::size_t operator()(const PairKey& pair) const;
  };
  struct Remainder {
    UsageRemainder millitokens;
    UnixMillis month;  // if this month's snapshot is removed, so is the remainder
  };

  /// Returns the snapshot of the same entity, resource and window as `added`; if there is none, a
  /// new one without counters.
  UsageSnapshot& At(const UsageSnapshot& added);
  OldestUsage Oldest() const;
  /// Removes at most `most` snapshots that have expired at `now`, and those beyond the limit.
  void Trim(UnixMillis now, std::size_t most);
  void RemoveOldest(UsageWindow window);

  UsageLimits limits_;
  // During a flood of new keys, idle buckets are removed as fast as buckets are created, and the
  // use of each is added here. A search in an ordered tree of all snapshots would be too slow.
  absl::node_hash_map<Key, UsageSnapshot, Hash> snapshots_;  // its keys do not move
  // The keys of the snapshots by window and start, in the order of their additions; no list is
  // empty.
  std::array<std::map<UnixMillis, std::deque<const Key*>>, kUsageWindows.size()> by_start_;
  absl::flat_hash_map<PairKey, Remainder, Hash> remainders_;
  UsageStats stats_;
};

}  // namespace weir
