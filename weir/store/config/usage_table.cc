#include "weir/store/config/usage_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "weir/base/integer_text.h"
#include "weir/model/identifier.h"
#include "weir/store/listing.h"

namespace weir {
namespace {

using Counters = std::map<std::string, std::int64_t, std::less<>>;

bool AddEach(Counters& sums, const Counters& added) {
  for (const auto& [name, number] : added) {
    std::int64_t& sum = sums[name];
    if (__builtin_add_overflow(sum, number, &sum)) return false;
  }
  return true;
}

// The sort key of a listing: the name that the filter leaves open, and the start, both descending.
struct Place {
  std::string open;
  UnixMillis start;
  UsageWindow window;
};

bool IsBefore(const UsageFilter& filter, const Place& a, const Place& b) {
  if (filter.entity && a.open != b.open) return a.open > b.open;
  if (a.start != b.start) return a.start > b.start;
  if (a.open != b.open) return a.open > b.open;
  return a.window < b.window;
}

Place PlaceOf(const UsageFilter& filter, const UsageSnapshot& snapshot) {
  return {filter.entity ? snapshot.resource : snapshot.entity, snapshot.start, snapshot.window};
}

}  // namespace

Status AddTo(UsageSnapshot& sum, const UsageSnapshot& added) {
  UsageSnapshot both = sum;
  const bool fits = AddEach(both.used, added.used) && AddEach(both.overdrawn, added.overdrawn) &&
                    !__builtin_add_overflow(both.events, added.events, &both.events);
  if (!fits) {
    return Fail(Code::kOutOfRange, fmt::format("usage of {} on {}: a sum would be beyond 64 bits",
                                               added.entity, added.resource));
  }
  sum = std::move(both);
  return {};
}

std::string CursorOf(const UsageFilter& filter, const UsageSnapshot& last) {
  return fmt::format("{} {} {}", Name(last.window), last.start.value,
                     filter.entity ? last.resource : last.entity);
}

Result<UsageCursor> ReadUsageCursor(const UsageFilter& filter, const std::string& cursor) {
  const std::size_t first = cursor.find(' ');
  const std::size_t second = first == cursor.npos ? first : cursor.find(' ', first + 1);
  if (second == cursor.npos) return BadCursor();
  const auto window = UsageWindowNamed(cursor.substr(0, first));
  UsageCursor read{.start = {}, .open = cursor.substr(second + 1)};
  const std::string_view middle = std::string_view(cursor).substr(first + 1, second - first - 1);
  const auto start = ReadInteger<std::int64_t>(middle);
  const bool is_named =
      filter.entity ? CheckResource(read.open).has_value() : CheckEntityId(read.open).has_value();
  const bool is_of_this = !filter.entity || !filter.resource || read.open == *filter.resource;
  if (!window || !start || !is_named || !is_of_this) return BadCursor();
  read.window = *window;
  read.start.value = *start;
  return read;
}

Status UsageTable::Add(const UsageSnapshot& added) {
  WEIR_RETURN_IF_ERROR(Check(added));
  const Key key{added.entity, added.resource, added.start, added.window};
  const auto found = snapshots_.find(key);
  if (found != snapshots_.end()) return AddTo(found->second, added);
  snapshots_.emplace(key, added);
  return {};
}

Result<Page<UsageSnapshot>> UsageTable::List(const UsageFilter& filter,
                                             const PageRequest& page) const {
  WEIR_RETURN_IF_ERROR(Check(filter));
  WEIR_RETURN_IF_ERROR(CheckLimit(page));
  std::optional<Place> after;
  if (!page.cursor.empty()) {
    WEIR_ASSIGN_OR_RETURN(UsageCursor read, ReadUsageCursor(filter, page.cursor));
    after = Place{std::move(read.open), read.start, read.window};
  }
  std::vector<const UsageSnapshot*> matching;
  for (const auto& [key, snapshot] : snapshots_) {
    const bool is_due = !after || IsBefore(filter, *after, PlaceOf(filter, snapshot));
    if (is_due && Matches(filter, snapshot)) matching.push_back(&snapshot);
  }
  std::ranges::sort(matching, [&](const UsageSnapshot* a, const UsageSnapshot* b) {
    return IsBefore(filter, PlaceOf(filter, *a), PlaceOf(filter, *b));
  });
  Page<UsageSnapshot> found;
  for (const UsageSnapshot* snapshot : matching) {
    if (found.items.size() == page.limit) {
      found.next = CursorOf(filter, found.items.back());
      break;
    }
    found.items.push_back(*snapshot);
  }
  return found;
}

}  // namespace weir
