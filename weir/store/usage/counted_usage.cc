#include "weir/store/usage/counted_usage.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "weir/store/config/usage_store.h"
#include "weir/store/usage/saturating.h"

namespace weir {
namespace {

constexpr std::int64_t kMillitokens = 1000;

// Adds the limit's old remainder to `used`, and returns the whole tokens of the sum. Stores the new
// remainder, which is not negative.
std::int64_t TakeWhole(std::int64_t used, const std::string& limit, UsageRemainder& remainder) {
  const auto found = remainder.find(limit);
  const std::int64_t before = found == remainder.end() ? 0 : found->second;
  const std::int64_t sum = used % kMillitokens + before;
  const std::int64_t carried = sum / kMillitokens - (sum % kMillitokens < 0 ? 1 : 0);
  const std::int64_t whole = used / kMillitokens + carried;
  const std::int64_t rest = sum - carried * kMillitokens;
  if (rest != 0) {
    remainder.insert_or_assign(limit, rest);
  } else if (found != remainder.end()) {
    remainder.erase(found);
  }
  return whole;
}

// Adds the remainders of the limits that the hour has not used to that of kOtherLimits.
void MoveToOthers(const HourOfUse& hour, UsageRemainder& remainder, UsageSnapshot& snapshot) {
  const std::string others(kOtherLimits);
  std::int64_t moved = 0;
  std::erase_if(remainder, [&](const auto& entry) {
    const auto& [limit, rest] = entry;
    const auto used = std::ranges::find(hour.limits, limit, &LimitUse::limit);
    if (used != hour.limits.end() || limit == others) return false;
    moved += rest;
    return true;
  });
  const std::int64_t whole = TakeWhole(moved, others, remainder);
  if (whole != 0) AddSaturating(snapshot.used[others], whole);
}

UsageSnapshot WholeTokens(const BucketKey& key, const HourOfUse& hour, UsageRemainder& remainder) {
  UsageSnapshot snapshot{.entity = key.entity,
                         .resource = key.resource,
                         .start = hour.start,
                         .used = {},
                         .overdrawn = {},
                         .events = hour.events};
  for (const LimitUse& limit : hour.limits) {
    if (!CheckUsageLimit(limit.limit)) continue;
    const std::int64_t whole = TakeWhole(limit.used, limit.limit, remainder);
    if (whole != 0) AddSaturating(snapshot.used[limit.limit], whole);
    if (limit.overdrawn != 0) snapshot.overdrawn.emplace(limit.limit, limit.overdrawn);
  }
  if (remainder.size() > kMaxUsageNames) MoveToOthers(hour, remainder, snapshot);
  return snapshot;
}

void AddCounters(UsageCounters& sums, const UsageCounters& added) {
  for (const auto& [name, number] : added) {
    const bool is_apart = sums.size() < kMaxUsageNames || sums.contains(name);
    const auto sum = sums.try_emplace(is_apart ? name : std::string(kOtherLimits)).first;
    AddSaturating(sum->second, number);
    if (sum->second == 0) sums.erase(sum);
  }
}

}  // namespace

std::vector<UsageSnapshot> SnapshotsOf(const BucketKey& key, std::span<const HourOfUse> hours,
                                       UsageRemainder& remainder) {
  std::vector<UsageSnapshot> snapshots;
  for (const HourOfUse& hour : hours) {
    if (!Check(UsageSnapshot{.entity = key.entity,
                             .resource = key.resource,
                             .start = hour.start,
                             .used = {},
                             .overdrawn = {}})) {
      continue;
    }
    UsageSnapshot added = WholeTokens(key, hour, remainder);
    for (const UsageWindow window : kUsageWindows) {
      added.window = window;
      added.start = StartOf(window, hour.start);
      const auto same = std::ranges::find_if(snapshots, [&](const UsageSnapshot& one) {
        return one.window == added.window && one.start == added.start;
      });
      if (same == snapshots.end()) {
        snapshots.push_back(added);
      } else {
        AddCounted(*same, added);
      }
    }
  }
  std::ranges::sort(snapshots, {}, [](const UsageSnapshot& snapshot) {
    return std::pair(snapshot.window, snapshot.start);
  });
  return snapshots;
}

void AddCounted(UsageSnapshot& sum, const UsageSnapshot& added) {
  AddCounters(sum.used, added.used);
  AddCounters(sum.overdrawn, added.overdrawn);
  AddSaturating(sum.events, added.events);
}

UnixMillis FirstKept(UsageWindow window, UnixMillis now) {
  using std::chrono::days;
  using std::chrono::hours;
  if (window == UsageWindow::kHourly) return now - days(7) - hours(1);
  if (window == UsageWindow::kDaily) return now - days(90) - days(1);
  return now - days(13 * 31) - days(31);
}

std::optional<UsageWindow> NextExpired(const OldestUsage& oldest, UnixMillis now) {
  for (const UsageWindow window : kUsageWindows) {
    const auto& start = oldest[static_cast<std::size_t>(window)];
    if (start && *start < FirstKept(window, now)) return window;
  }
  return std::nullopt;
}

std::optional<UsageWindow> NextEvicted(const OldestUsage& oldest) {
  std::optional<UsageWindow> first;
  UnixMillis first_end;
  for (const UsageWindow window : kUsageWindows) {
    const auto& start = oldest[static_cast<std::size_t>(window)];
    if (!start) continue;
    const UnixMillis end = EndOf(window, *start);
    if (first && end >= first_end) continue;
    first = window;
    first_end = end;
  }
  return first;
}

}  // namespace weir
