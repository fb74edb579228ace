#include "weir/store/usage/bucket_use.h"

#include <algorithm>
#include <utility>

#include "weir/model/usage.h"
#include "weir/store/usage/saturating.h"

namespace weir {
namespace {

void AddTo(HourOfUse& hour, const LimitUse& added) {
  const auto found = std::ranges::find(hour.limits, added.limit, &LimitUse::limit);
  if (found == hour.limits.end()) return hour.limits.push_back(added);
  AddSaturating(found->used, added.used);
  AddSaturating(found->overdrawn, added.overdrawn);
}

bool IsCounted(const HourOfUse& hour, std::string_view limit) {
  return std::ranges::find(hour.limits, limit, &LimitUse::limit) != hour.limits.end();
}

HourOfUse& HourAt(std::vector<HourOfUse>& hours, UnixMillis start) {
  const auto found = std::ranges::find(hours, start, &HourOfUse::start);
  return found == hours.end() ? hours.emplace_back(HourOfUse{.start = start}) : *found;
}

std::vector<HourOfUse>& MoreOf(BucketUse& use) {
  if (use.more == nullptr) use.more = std::make_unique<std::vector<HourOfUse>>();
  return *use.more;
}

// Returns the part of the open hour that is counted by index.
HourOfUse OpenPart(const BucketUse& use, std::span<const Limit> limits) {
  HourOfUse hour{.start = use.hour, .events = use.events};
  for (std::size_t i = 0; i < use.used.size(); ++i) {
    // A limit whose changes add up to 0 may have been used too. This is not known here, and does
    // not matter, because its use would add nothing.
    if (use.used[i] != 0) hour.limits.push_back({.limit = limits[i].name, .used = use.used[i]});
  }
  return hour;
}

bool IsUsed(const HourOfUse& hour) { return hour.events != 0 || !hour.limits.empty(); }

}  // namespace

UnixMillis HourOf(UnixMillis now) {
  constexpr UnixMillis kLast{253'402'300'799'999};
  return StartOf(UsageWindow::kHourly, std::clamp(now, UnixMillis{0}, kLast));
}

void MoveToNames(BucketUse& use, std::span<const Limit> limits, std::size_t count) {
  if (use.hour == BucketUse::kNoHour) return;
  if (const HourOfUse part = OpenPart(use, limits); IsUsed(part)) AddTo(MoreOf(use), part);
  use.events = 0;
  use.used.assign(count, 0);
}

void EndHour(BucketUse& use, std::span<const Limit> limits) {
  MoveToNames(use, limits, 0);
  use.hour = BucketUse::kNoHour;
}

void OpenHour(BucketUse& use, std::span<const Limit> limits, UnixMillis now) {
  EndHour(use, limits);
  use.hour = HourOf(now);
  use.used.assign(limits.size(), 0);
}

void CountNamed(BucketUse& use, const LimitUse& change, std::int64_t events) {
  HourOfUse& hour = HourAt(MoreOf(use), use.hour);
  hour.events += events;
  const bool is_configured = events == 0;
  const bool is_apart =
      is_configured || hour.limits.size() < kMaxNamesInHour || IsCounted(hour, change.limit);
  AddTo(hour, is_apart ? change
                       : LimitUse{.limit = std::string(kOtherLimits),
                                  .used = change.used,
                                  .overdrawn = change.overdrawn});
}

bool IsEmpty(const BucketUse& use) {
  return use.more == nullptr && use.events == 0 &&
         std::ranges::all_of(use.used, [](std::int64_t used) { return used == 0; });
}

bool HasEnded(const BucketUse& use) {
  return use.more != nullptr && std::ranges::any_of(*use.more, [&](const HourOfUse& hour) {
           return hour.start != use.hour;
         });
}

std::vector<HourOfUse> TakeEnded(BucketUse& use) {
  std::vector<HourOfUse> ended;
  if (use.more == nullptr) return ended;
  const auto open_hour = std::ranges::partition(
      *use.more, [&](const HourOfUse& hour) { return hour.start != use.hour; });
  std::ranges::move(use.more->begin(), open_hour.begin(), std::back_inserter(ended));
  use.more->erase(use.more->begin(), open_hour.begin());
  if (use.more->empty()) use.more.reset();
  return ended;
}

std::vector<HourOfUse> HoursOf(const BucketUse& use, std::span<const Limit> limits) {
  std::vector<HourOfUse> hours;
  if (use.more != nullptr) hours = *use.more;
  if (use.hour != BucketUse::kNoHour) {
    if (const HourOfUse part = OpenPart(use, limits); IsUsed(part)) AddTo(hours, part);
  }
  std::ranges::sort(hours, {}, &HourOfUse::start);
  return hours;
}

void AddTo(std::vector<HourOfUse>& hours, const HourOfUse& added) {
  HourOfUse& hour = HourAt(hours, added.start);
  AddSaturating(hour.events, added.events);
  for (const LimitUse& limit : added.limits) AddTo(hour, limit);
}

}  // namespace weir
