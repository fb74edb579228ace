#include "weir/store/bucket/bucket_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/bucket_time.h"
#include "weir/bucket/meter_times.h"
#include "weir/store/bucket/extra_meters.h"

namespace weir {
namespace {

// The source of a limit's meter in a bucket: a configured meter, the extra meters, or neither.
struct Source {
  const Bucket* bucket = nullptr;
  const Meter* configured = nullptr;
  const ExtraMeters* extras = nullptr;
};

// Returns the index of the configured meter for a limit of `target`, if there is one.
std::optional<std::size_t> IndexOf(const BucketState& state, const Target& target,
                                   std::size_t limit) {
  if (state.target.get() == &target) return limit;
  const std::vector<Limit>& limits = state.target->limits;
  const auto found = std::ranges::find(limits, target.limits[limit].name, &Limit::name);
  if (found == limits.end()) return std::nullopt;
  return static_cast<std::size_t>(found - limits.begin());
}

Source SourceIn(const BucketState* state, const Target& target, std::size_t limit) {
  if (state == nullptr) return {};
  const auto index = IndexOf(*state, target, limit);
  return {.bucket = &state->bucket,
          .configured = index ? &state->bucket.meters[*index] : nullptr,
          .extras = state->extras.get()};
}

Source SourceIn(const BucketRecord* record, const Target& target, std::size_t limit) {
  if (record == nullptr) return {};
  const auto found = std::ranges::find(record->names, target.limits[limit].name);
  const auto index = static_cast<std::size_t>(found - record->names.begin());
  return {.bucket = &record->bucket,
          .configured = found == record->names.end() ? nullptr : &record->bucket.meters[index],
          .extras = &record->extras};
}

milliseconds Behind(UnixMillis time, UnixMillis now) {
  return time > now ? time - now : milliseconds(0);
}

// Returns a copy of the meter, refilled to `now` under its stored parameters. If there is no meter,
// returns the one with which the limit starts, under the limit's parameters.
MeterView StoredView(const Source& source, const Limit& limit, UnixMillis now) {
  if (source.configured == nullptr) {
    const ExtraMeter extra = ExtraOf(source.extras, limit, now);
    return {.meter = extra.meter, .behind = Behind(extra.time, now)};
  }
  MeterView view{.meter = *source.configured, .behind = Behind(source.bucket->time, now)};
  Refill(view.meter, source.bucket->time, now);
  return view;
}

// Like StoredView, but with the parameters that apply to a request. For an override of a configured
// limit, these are the override's capacity and the stored rate.
MeterView JudgedView(const Source& source, const Target& target, std::size_t limit,
                     UnixMillis now) {
  MeterView view = StoredView(source, target.limits[limit], now);
  Quota quota = target.limits[limit].quota;
  if (source.configured != nullptr && target.source == LimitSource::kOverride) {
    quota = {.capacity = quota.capacity,
             .amount = view.meter.quota.amount,
             .period = view.meter.quota.period};
  }
  if (view.meter.quota != quota) ChangeQuota(view.meter, quota);
  return view;
}

ExtraMeters& ExtrasOf(BucketState& state) {
  if (state.extras == nullptr) state.extras = std::make_unique<ExtraMeters>();
  return *state.extras;
}

// Releases `extras` if it has no meters, and every meter that was removed early would be full by
// now.
void DropExtrasIfDone(BucketState& state, UnixMillis now) {
  if (state.extras == nullptr || !state.extras->meters.empty()) return;
  if (state.extras->left_full <= now) state.extras.reset();
}

// A limit may rejoin from an extra meter, or from one that was removed early, whose time is ahead
// of the bucket's. Returns the latest such time. The bucket must be refilled to this time first, so
// that no meter is refilled twice for the same time. Times that are far ahead (a wrong clock) are
// ignored.
UnixMillis RejoinTime(const BucketState& state, UnixMillis now) {
  const UnixMillis earliest = std::max(now, state.bucket.time);
  if (state.extras == nullptr) return earliest;
  UnixMillis latest = earliest;
  const auto include = [&](UnixMillis time) {
    if (!IsFarAhead(time, earliest)) latest = std::max(latest, time);
  };
  for (const ExtraMeter& extra : state.extras->meters) include(extra.time);
  include(state.extras->last_left);
  return latest;
}

// Changes the configured limits to those of the target. A limit that the target names keeps its
// present meter, configured or extra. The meter of a configured limit that the target lacks becomes
// an extra meter. The new meters are made from the old state before anything is replaced.
void ReplaceLimits(BucketState& state, const TargetPtr& target, UnixMillis now) {
  const UnixMillis time = RejoinTime(state, now);
  Refill(state.bucket, time);
  Meters meters;
  meters.reserve(target->limits.size());
  for (std::size_t i = 0; i < target->limits.size(); ++i) {
    meters.push_back(JudgedView(SourceIn(&state, *target, i), *target, i, time).meter);
  }
  const auto is_in_target = [&](const std::string& name) {
    return std::ranges::find(target->limits, name, &Limit::name) != target->limits.end();
  };
  ExtraMeters extras = state.extras == nullptr ? ExtraMeters() : std::move(*state.extras);
  std::erase_if(extras.meters, [&](const ExtraMeter& extra) { return is_in_target(extra.name); });
  const std::vector<Limit>& old = state.target->limits;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (is_in_target(old[i].name)) continue;
    extras.meters.push_back({old[i].name, state.bucket.meters[i], time});
  }
  ReduceTo(extras, kMaxExtraMeters, time);
  MoveToNames(state.use, old, target->limits.size());
  state.bucket.meters = std::move(meters);
  state.target = target;
  ExtrasOf(state) = std::move(extras);
  DropExtrasIfDone(state, time);
}

// Targets that were made at different times often have equal limits; then only the pointer is
// replaced.
void AdoptTarget(BucketState& state, const TargetPtr& target, UnixMillis now) {
  if (state.target == target) return;
  if (state.target->limits != target->limits) return ReplaceLimits(state, target, now);
  state.target = target;
}

bool HasLessThanOneToken(const BucketState& state, const Target& target, UnixMillis now) {
  for (std::size_t i = 0; i < target.limits.size(); ++i) {
    const MeterView view = JudgedView(SourceIn(&state, target, i), target, i, now);
    if (view.meter.tokens < kMillitokens) return true;
  }
  return false;
}

// Charges configured limits at their meters, and other names at extra meters. A charged extra meter
// gets the parameters of this request; it is held in `charged` while others are removed to make
// space.
void TakeOverride(BucketState& state, const Charge& charge, UnixMillis now) {
  ExtraMeters& extras = ExtrasOf(state);
  std::vector<ExtraMeter> charged;
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    if (charge.amounts[i] == 0) continue;
    if (const auto index = IndexOf(state, *charge.target, i)) {
      Refill(state.bucket, now);
      Debit(state.bucket.meters[*index], charge.amounts[i]);
      continue;
    }
    const Limit& limit = charge.target->limits[i];
    charged.push_back(WithdrawExtra(extras, limit, now));
    ChangeQuota(charged.back().meter, limit.quota);
    Debit(charged.back().meter, charge.amounts[i]);
  }
  ReduceTo(extras, kMaxExtraMeters - std::min(charged.size(), kMaxExtraMeters), now);
  std::ranges::move(charged, std::back_inserter(extras.meters));
  DropExtrasIfDone(state, now);
}

}  // namespace

BucketState NewBucketState(const TargetPtr& target, UnixMillis now) {
  BucketState state{.target = target, .bucket = {.time = now, .meters = {}}, .extras = {}};
  if (target->source == LimitSource::kOverride) {
    state.target = MakeTarget(target->key, {});
    return state;
  }
  state.bucket.meters.reserve(target->limits.size());
  for (const Limit& limit : target->limits) state.bucket.meters.push_back(FullMeter(limit.quota));
  return state;
}

BucketState StateOf(BucketRecord record) {
  std::vector<Limit> limits;
  limits.reserve(record.names.size());
  for (std::size_t i = 0; i < record.names.size(); ++i) {
    limits.push_back({std::move(record.names[i]), record.bucket.meters[i].quota});
  }
  BucketState state{.target = MakeTarget(std::move(record.key), std::move(limits)),
                    .bucket = std::move(record.bucket),
                    .extras = {}};
  if (record.extras == ExtraMeters()) return state;
  state.extras = std::make_unique<ExtraMeters>(std::move(record.extras));
  return state;
}

BucketRecord RecordOf(const BucketState& state) {
  BucketRecord record{.key = state.target->key, .names = {}, .bucket = state.bucket};
  for (const Limit& limit : state.target->limits) record.names.push_back(limit.name);
  if (state.extras != nullptr) record.extras = *state.extras;
  return record;
}

MeterView ViewOf(const BucketState* state, const Target& target, std::size_t limit,
                 UnixMillis now) {
  return JudgedView(SourceIn(state, target, limit), target, limit, now);
}

MeterView ViewOf(const BucketRecord* record, const Target& target, std::size_t limit,
                 UnixMillis now) {
  return JudgedView(SourceIn(record, target, limit), target, limit, now);
}

bool Changes(const Charge& charge) {
  return std::ranges::any_of(charge.amounts, [](std::int64_t amount) { return amount != 0; });
}

Status CheckSpace(const BucketState* state, const Charge& charge, UnixMillis now) {
  const Target& target = *charge.target;
  if (target.source == LimitSource::kConfigured) return {};
  std::vector<std::string_view> charged;
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const bool is_extra = SourceIn(state, target, i).configured == nullptr;
    if (charge.amounts[i] > 0 && is_extra) charged.push_back(target.limits[i].name);
  }
  if (charged.empty()) return {};
  std::size_t needed = charged.size();
  if (state != nullptr && state->extras != nullptr) {
    needed += static_cast<std::size_t>(
        std::ranges::count_if(state->extras->meters, [&](const ExtraMeter& extra) {
          return IsInDebt(extra, now) && std::ranges::find(charged, extra.name) == charged.end();
        }));
  }
  if (needed <= kMaxExtraMeters) return {};
  return Fail(Code::kFailedPrecondition,
              fmt::format("{}/{}: limit {} is not configured, and at most {} such limits are kept; "
                          "{} others were named or are in debt; configure it, or wait until debts "
                          "are repaid",
                          target.key.entity, target.key.resource, charged.front(), kMaxExtraMeters,
                          needed - 1));
}

void Take(BucketState& state, const Charge& charge, UnixMillis now) {
  if (charge.target->source == LimitSource::kOverride) return TakeOverride(state, charge, now);
  AdoptTarget(state, charge.target, now);
  Refill(state.bucket, now);
  Debit(state.bucket, charge.amounts);
}

bool StoreLimits(BucketState& state, const Charge& charge, UnixMillis now) {
  const TargetPtr& target = charge.target;
  if (target->source == LimitSource::kOverride) return false;
  if (state.target == target || state.target->limits == target->limits) return false;
  if (!Changes(charge) && !HasLessThanOneToken(state, *target, now)) return false;
  ReplaceLimits(state, target, now);
  return true;
}

// If the limits are stored first, the debt is that under the new capacity.
bool CanAdjust(const BucketState* state, const Charge& charge, bool stores_limits, UnixMillis now) {
  const Target& target = *charge.target;
  const bool adopts = stores_limits && target.source == LimitSource::kConfigured;
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const Source source = SourceIn(state, target, i);
    const MeterView view =
        adopts ? JudgedView(source, target, i, now) : StoredView(source, target.limits[i], now);
    if (!CanAdjust(view.meter, charge.amounts[i])) return false;
  }
  return true;
}

void AdoptLimits(BucketState& state, const TargetPtr& target, UnixMillis now) {
  if (target->source == LimitSource::kConfigured) AdoptTarget(state, target, now);
}

void Adjust(BucketState& state, const Charge& charge, UnixMillis now) {
  const Target& target = *charge.target;
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    if (charge.amounts[i] == 0) continue;
    if (const auto index = IndexOf(state, target, i)) {
      Refill(state.bucket, now);
      Adjust(state.bucket.meters[*index], charge.amounts[i]);
      continue;
    }
    ExtraMeters& extras = ExtrasOf(state);
    extras.meters.push_back(WithdrawExtra(extras, target.limits[i], now));
    Adjust(extras.meters.back().meter, charge.amounts[i]);
  }
  if (state.extras == nullptr) return;
  ReduceTo(*state.extras, kMaxExtraMeters, now);
  DropExtrasIfDone(state, now);
}

bool RemoveFullExtras(BucketState& state, UnixMillis now) {
  if (state.extras == nullptr) return false;
  const bool removed = RemoveFullMeters(*state.extras, now);
  DropExtrasIfDone(state, now);
  return removed;
}

UnixMillis FullAt(const BucketState& state) {
  const UnixMillis full = FullAt(state.bucket);
  return state.extras == nullptr ? full : std::max(full, FullAt(*state.extras));
}

}  // namespace weir
