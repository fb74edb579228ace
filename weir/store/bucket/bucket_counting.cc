#include "weir/store/bucket/bucket_counting.h"

#include <algorithm>
#include <string>
#include <vector>

#include "weir/store/bucket/extra_meters.h"

namespace weir {
namespace {

bool IsOverdraft(const Meter& meter, std::int64_t amount) { return amount > 0 && meter.tokens < 0; }

void CountMeter(BucketState& state, std::size_t index, std::int64_t amount) {
  CountConfigured(state.use, index, amount);
  if (!IsOverdraft(state.bucket.meters[index], amount)) return;
  CountNamed(state.use, {.limit = state.target->limits[index].name, .overdrawn = 1}, 0);
}

// Counts a charge by the names of its limits: its target is not the target of the bucket, so its
// limits may have other indexes.
void CountByNames(BucketState& state, const Charge& charge) {
  const std::vector<Limit>& configured = state.target->limits;
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const std::int64_t amount = charge.amounts[i];
    if (amount == 0) continue;
    const std::string& name = charge.target->limits[i].name;
    const auto found = std::ranges::find(configured, name, &Limit::name);
    if (found != configured.end()) {
      CountMeter(state, static_cast<std::size_t>(found - configured.begin()), amount);
      continue;
    }
    // The charge may already have removed the extra meter. If it was full, there was no overdraft.
    // If other extra meters needed its space, an overdraft is not counted.
    const ExtraMeter* extra = FindExtra(state.extras.get(), name);
    const bool overdrawn = extra != nullptr && IsOverdraft(extra->meter, amount);
    CountNamed(state.use, {.limit = name, .used = amount, .overdrawn = overdrawn ? 1 : 0}, 1);
  }
}

}  // namespace

void CountUse(BucketState& state, const Charge& charge, UnixMillis now) {
  if (!IsOpenAt(state.use, now)) OpenHour(state.use, state.target->limits, now);
  if (state.target != charge.target) return CountByNames(state, charge);
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    if (charge.amounts[i] != 0) CountMeter(state, i, charge.amounts[i]);
  }
}

HourOfUse UseOfReturn(const Charge& charge, UnixMillis now) {
  HourOfUse hour{.start = HourOf(now)};
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    if (charge.amounts[i] == 0) continue;
    ++hour.events;
    hour.limits.push_back({.limit = charge.target->limits[i].name, .used = charge.amounts[i]});
  }
  return hour;
}

}  // namespace weir
