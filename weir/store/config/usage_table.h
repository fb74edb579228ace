// Usage in the memory of one process.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "weir/base/result.h"
#include "weir/store/config/usage_store.h"

namespace weir {

/// Adds all counters to `sum`. Returns kOutOfRange, without a change, if one does not fit in 64
/// bits.
[[nodiscard]] Status AddTo(UsageSnapshot& sum, const UsageSnapshot& added);

/// The position in a listing: after the snapshot with this window, start and name. `open` is the
/// name that the filter leaves open: the resource, or, if the filter has no entity, the entity.
struct UsageCursor {
  UsageWindow window = UsageWindow::kHourly;
  UnixMillis start;
  std::string open;
};
std::string CursorOf(const UsageFilter& filter, const UsageSnapshot& last);
/// Returns the position of a cursor that is not empty.
[[nodiscard]] Result<UsageCursor> ReadUsageCursor(const UsageFilter& filter,
                                                  const std::string& cursor);

/// Follows the rules of UsageStore. A value; not thread-safe: its owner locks. It grows by one
/// snapshot for each entity, resource and window.
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
