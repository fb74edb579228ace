#include "weir/store/config/usage_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "weir/base/integer_text.h"
#include "weir/bucket/key_hash.h"
#include "weir/model/identifier.h"
#include "weir/store/listing.h"

namespace weir {
namespace {

// The maximum number of slots that are reserved. A slot takes about 18 bytes of address space,
// which become resident when it is used.
constexpr std::size_t kMaxReserved = 1'000'000;

bool AddEach(UsageCounters& sums, const UsageCounters& added) {
  for (const auto& [name, number] : added) {
    std::int64_t& sum = sums[name];
    if (__builtin_add_overflow(sum, number, &sum)) return false;
  }
  return true;
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

UsageCursor PositionOf(const UsageFilter& filter, const UsageSnapshot& snapshot) {
  return {.window = snapshot.window,
          .start = snapshot.start,
          .open = filter.entity ? snapshot.resource : snapshot.entity};
}

bool IsBefore(const UsageFilter& filter, const UsageCursor& a, const UsageCursor& b) {
  if (filter.entity && a.open != b.open) return a.open > b.open;
  if (a.start != b.start) return a.start > b.start;
  if (a.open != b.open) return a.open > b.open;
  return Name(a.window) < Name(b.window);
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
  UsageCursor last{.start = {}, .open = cursor.substr(second + 1)};
  const std::string_view middle = std::string_view(cursor).substr(first + 1, second - first - 1);
  const auto start = ReadInteger<std::int64_t>(middle);
  const bool is_valid_name =
      filter.entity ? CheckResource(last.open).has_value() : CheckEntityId(last.open).has_value();
  const bool is_selected = !filter.entity || !filter.resource || last.open == *filter.resource;
  if (!window || !start || !is_valid_name || !is_selected) return BadCursor();
  last.window = *window;
  last.start.value = *start;
  return last;
}

Status UsageTable::Add(const UsageSnapshot& added) {
  WEIR_RETURN_IF_ERROR(Check(added));
  const auto found = snapshots_.find({added.entity, added.resource, added.start, added.window});
  if (found != snapshots_.end()) return AddTo(found->second, added);
  UsageSnapshot& stored = At(added);
  stored = added;
  stored.mixed = false;
  Trim({}, 0);
  return {};
}

std::size_t UsageTable::Hash::operator()(const Key& key) const {
  const auto& [entity, resource, start, window] = key;
  const auto place = static_cast<std::uint64_t>(start.value) * kUsageWindows.size();
  return HashNames(entity, resource, place + static_cast<std::uint64_t>(window));
}

std::size_t UsageTable::Hash::operator()(const PairKey& pair) const {
  return HashNames(pair.first, pair.second);
}

UsageSnapshot& UsageTable::At(const UsageSnapshot& added) {
  // A table that grew would read each of its snapshots, while all stripes of buckets wait.
  if (snapshots_.empty()) {
    snapshots_.reserve(std::min(limits_.max_snapshots, kMaxReserved) + kUsageWindows.size());
  }
  const auto [at, is_new] =
      snapshots_.try_emplace({added.entity, added.resource, added.start, added.window});
  if (!is_new) return at->second;
  by_start_[static_cast<std::size_t>(added.window)][added.start].push_back(&at->first);
  ++stats_.kept;
  at->second = {.entity = added.entity,
                .resource = added.resource,
                .window = added.window,
                .start = added.start,
                .used = {},
                .overdrawn = {}};
  return at->second;
}

void UsageTable::AddHours(const BucketKey& key, std::span<const HourOfUse> hours, UnixMillis now) {
  const auto remainder = remainders_.try_emplace({key.entity, key.resource}).first;
  const auto snapshots = SnapshotsOf(key, hours, remainder->second.millitokens);
  for (const UsageSnapshot& added : snapshots) {
    AddCounted(At(added), added);
    if (added.window == UsageWindow::kMonthly) remainder->second.month = added.start;
  }
  if (remainder->second.millitokens.empty()) remainders_.erase(remainder);
  UnixMillis latest;
  for (const HourOfUse& hour : hours) {
    latest = std::max(latest, EndOf(UsageWindow::kHourly, hour.start));
  }
  // Removes up to twice as many snapshots as were added, so that the number of expired ones falls.
  Trim(std::min(now, latest), 2 * snapshots.size());
}

OldestUsage UsageTable::Oldest() const {
  OldestUsage oldest;
  for (std::size_t i = 0; i < oldest.size(); ++i) {
    if (!by_start_[i].empty()) oldest[i] = by_start_[i].begin()->first;
  }
  return oldest;
}

void UsageTable::Trim(UnixMillis now, std::size_t most) {
  for (; most > 0; --most) {
    const auto window = NextExpired(Oldest(), now);
    if (!window) break;
    RemoveOldest(*window);
    ++stats_.expired;
  }
  while (snapshots_.size() > limits_.max_snapshots) {
    RemoveOldest(*NextEvicted(Oldest()));
    ++stats_.evicted;
  }
}

void UsageTable::RemoveOldest(UsageWindow window) {
  auto& starts = by_start_[static_cast<std::size_t>(window)];
  const auto oldest = starts.begin();
  const auto removed = snapshots_.find(*oldest->second.front());
  oldest->second.pop_front();
  if (oldest->second.empty()) starts.erase(oldest);
  if (window == UsageWindow::kMonthly) {
    const auto& [entity, resource, start, _] = removed->first;
    const auto remainder = remainders_.find({entity, resource});
    if (remainder != remainders_.end() && remainder->second.month == start) {
      remainders_.erase(remainder);
    }
  }
  snapshots_.erase(removed);
  --stats_.kept;
}

Result<Page<UsageSnapshot>> UsageTable::List(const UsageFilter& filter,
                                             const PageRequest& page) const {
  WEIR_RETURN_IF_ERROR(Check(filter));
  WEIR_RETURN_IF_ERROR(CheckLimit(page));
  std::optional<UsageCursor> after;
  if (!page.cursor.empty()) {
    WEIR_ASSIGN_OR_RETURN(after, ReadUsageCursor(filter, page.cursor));
  }
  std::vector<const UsageSnapshot*> matching;
  for (const auto& [key, snapshot] : snapshots_) {
    const bool is_after_cursor = !after || IsBefore(filter, *after, PositionOf(filter, snapshot));
    if (is_after_cursor && Matches(filter, snapshot)) matching.push_back(&snapshot);
  }
  std::ranges::sort(matching, [&](const UsageSnapshot* a, const UsageSnapshot* b) {
    return IsBefore(filter, PositionOf(filter, *a), PositionOf(filter, *b));
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
