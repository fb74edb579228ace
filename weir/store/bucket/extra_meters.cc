#include "weir/store/bucket/extra_meters.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "weir/bucket/meter_times.h"

namespace weir {
namespace {

void RefillTo(ExtraMeter& extra, UnixMillis now) {
  Refill(extra.meter, extra.time, now);
  extra.time = std::max(extra.time, now);
}

bool IsFullAt(const ExtraMeter& extra, UnixMillis now) {
  return FullAt(extra.meter, extra.time) <= now;
}

// A new name may be that of a meter that was removed early. So until `left_full`, when the last of
// these meters would be full, a new meter starts at `last_left` with a balance from which it
// becomes full at `left_full` at its own rate, and is then refilled to `now`.
ExtraMeter NewExtra(const ExtraMeters* extras, const Limit& limit, UnixMillis now) {
  ExtraMeter extra{.name = limit.name, .meter = FullMeter(limit.quota), .time = now};
  if (extras == nullptr || extras->left_full <= now) return extra;
  extra.meter = MeterFullIn(limit.quota, LeftFullIn(*extras));
  extra.time = extras->last_left;
  RefillTo(extra, now);
  return extra;
}

// Removes one meter: a meter that is not in debt before one that is, and among equals the one that
// would be full first.
void RemoveEarly(ExtraMeters& extras, UnixMillis now) {
  const auto order = [now](const ExtraMeter& extra) {
    return std::tuple(IsInDebt(extra, now), FullAt(extra.meter, extra.time));
  };
  const auto leaving = std::ranges::min_element(extras.meters, {}, order);
  extras.last_left = std::max({extras.last_left, leaving->time, now});
  extras.left_full = std::max(extras.left_full, FullAt(leaving->meter, leaving->time));
  extras.meters.erase(leaving);
}

}  // namespace

const ExtraMeter* FindExtra(const ExtraMeters* extras, std::string_view name) {
  if (extras == nullptr) return nullptr;
  const auto found = std::ranges::find(extras->meters, name, &ExtraMeter::name);
  return found == extras->meters.end() ? nullptr : &*found;
}

ExtraMeter ExtraOf(const ExtraMeters* extras, const Limit& limit, UnixMillis now) {
  const ExtraMeter* found = FindExtra(extras, limit.name);
  if (found == nullptr) return NewExtra(extras, limit, now);
  ExtraMeter extra = *found;
  RefillTo(extra, now);
  // A full meter may have been removed by now, so its parameters must not matter.
  if (IsFullAt(extra, now)) extra.meter = FullMeter(limit.quota);
  return extra;
}

ExtraMeter WithdrawExtra(ExtraMeters& extras, const Limit& limit, UnixMillis now) {
  ExtraMeter extra = ExtraOf(&extras, limit, now);
  std::erase_if(extras.meters, [&](const ExtraMeter& other) { return other.name == limit.name; });
  return extra;
}

bool RemoveFullMeters(ExtraMeters& extras, UnixMillis now) {
  return std::erase_if(extras.meters,
                       [now](const ExtraMeter& extra) { return IsFullAt(extra, now); }) > 0;
}

void ReduceTo(ExtraMeters& extras, std::size_t count, UnixMillis now) {
  RemoveFullMeters(extras, now);
  while (extras.meters.size() > count) RemoveEarly(extras, now);
}

bool IsInDebt(const ExtraMeter& extra, UnixMillis now) {
  Meter meter = extra.meter;
  Refill(meter, extra.time, now);
  return meter.tokens < 0;
}

milliseconds LeftFullIn(const ExtraMeters& extras) {
  std::int64_t wait = 0;
  if (__builtin_sub_overflow(extras.left_full.value, extras.last_left.value, &wait)) {
    return extras.left_full > extras.last_left ? kLongestWait : milliseconds(0);
  }
  return std::min(milliseconds(wait), kLongestWait);
}

UnixMillis FullAt(const ExtraMeters& extras) {
  UnixMillis full = extras.last_left + LeftFullIn(extras);
  for (const ExtraMeter& extra : extras.meters) {
    full = std::max(full, FullAt(extra.meter, extra.time));
  }
  return full;
}

}  // namespace weir
