// Usage in the memory of one process.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "weir/base/result.h"
#include "weir/store/usage_store.h"

namespace weir {

/// Adds counters; kOutOfRange, and `sum` is as it was, where one would pass 64 bits.
[[nodiscard]] Status AddTo(UsageSnapshot& sum, const UsageSnapshot& added);

/// Where a listing goes on: behind the snapshot of this window, start, and of what the filter
/// leaves open, the resource of an entity or the entity of a resource.
struct UsageCursor {
  UsageWindow window = UsageWindow::kHourly;
  UnixMillis start;
  std::string open;
};
std::string CursorOf(const UsageFilter& filter, const UsageSnapshot& last);
/// REQUIRES: a cursor that is not empty.
[[nodiscard]] Result<UsageCursor> ReadUsageCursor(const UsageFilter& filter,
                                                  const std::string& cursor);

/// A value with the rules of UsageStore; not thread-safe: its owner locks. Grows by one snapshot
/// for each entity, resource and window that is added to.
class UsageTable {
 public:
  [[nodiscard]] Status Add(const UsageSnapshot& added);
  [[nodiscard]] Result<Page<UsageSnapshot>> List(const UsageFilter& filter,
                                                 const PageRequest& page) const;

 private:
  using Key = std::tuple<std::string, std::string, UnixMillis, UsageWindow>;
  std::map<Key, UsageSnapshot> snapshots_;
};

}  // namespace weir
