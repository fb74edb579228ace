#include "weir/zae_table/bucket/limit_updates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weir/bucket/meter_times.h"

namespace weir::dynamo {
namespace {

bool IsOverride(const BucketRequest& request) {
  return request.target.source == LimitSource::kOverride;
}

/// Computes the updates of one request on one image.
class UpdateBuilder {
 public:
  UpdateBuilder(const BucketImage& image, const BucketRequest& request, UnixMillis now)
      : image_(image), request_(request), now_(now), elapsed_((now - image.bucket.time).count()) {}

  std::vector<LimitUpdate> Make() {
    const std::vector<Limit>& limits = request_.target.limits;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      updates_.push_back(NamedLimit(limits[i], request_.sums[i]));
    }
    for (std::size_t i = 0; i < image_.names.size(); ++i) {
      const bool is_there = std::ranges::any_of(updates_, [&](const LimitUpdate& update) {
        return update.old_index == static_cast<int>(i);
      });
      if (!is_there) updates_.push_back(UnnamedLimit(i));
    }
    return std::move(updates_);
  }

 private:
  // A limit that the request names.
  LimitUpdate NamedLimit(const Limit& limit, const MeterAmounts& amounts) {
    const auto found = std::ranges::find(image_.names, limit.name);
    LimitUpdate update =
        found == image_.names.end()
            ? JoiningLimit(limit, amounts)
            : StoredLimit(static_cast<std::size_t>(found - image_.names.begin()), limit, amounts);
    update.asked = true;
    update.amounts = amounts;
    return update;
  }

  // A limit that the request names and the item has.
  LimitUpdate StoredLimit(std::size_t index, const Limit& limit, const MeterAmounts& amounts) {
    const bool is_extra = image_.IsExtra(limit.name);
    const bool configures = request_.configures();
    LimitUpdate update = RefilledLimit(index, image_.stored[index]);
    // A full extra has no used tokens to remember, so an adjust may replace its parameters, too.
    const bool is_full = update.conformed.tokens >= update.conformed.quota.capacity;
    const bool replaces_quota =
        configures || (is_extra && amounts.used() > 0 && (!request_.adjusts || is_full));
    if (replaces_quota && update.quota != limit.quota) update = RefilledLimit(index, limit.quota);
    update.extra = is_extra && !configures;
    if (replaces_quota || request_.adjusts) return update;
    // A take with an override is judged by a copy of the meter, which has the capacity of the
    // override. The copy of a configured limit refills at the stored rate. The copy of an extra
    // refills at the rate of the override, because a take would store that rate.
    Quota copy = ShareOf(limit.quota, image_.shards, image_.key.shard);
    if (!is_extra) {
      copy.amount = update.share.amount;
      copy.period = update.share.period;
    }
    update.least = update.share.capacity - copy.capacity;
    if (copy != update.share) ChangeQuota(update.judged, copy);
    return update;
  }

  // A limit that the request does not name stays. It becomes an extra if the request configures the
  // bucket.
  LimitUpdate UnnamedLimit(std::size_t index) {
    LimitUpdate update = RefilledLimit(index, image_.stored[index]);
    const bool configures = request_.configures();
    update.extra = configures || image_.IsExtra(update.name);
    return update;
  }

  // A limit of the item, refilled until now and changed to `quota`.
  LimitUpdate RefilledLimit(std::size_t index, const Quota& quota) {
    LimitUpdate update{.name = image_.names[index],
                       .old_index = static_cast<int>(index),
                       .quota = quota,
                       .share = ShareOf(quota, image_.shards, image_.key.shard),
                       .before = image_.bucket.meters[index]};
    const Earned earned = EarnedIn(update.before, elapsed_);
    update.gain = earned.whole;
    update.gain_up = earned.rounded_up;
    update.conformed = update.before;
    Refill(update.conformed, elapsed_);
    if (update.conformed.quota != update.share) ChangeQuota(update.conformed, update.share);
    update.judged = update.conformed;
    return update;
  }

  // A limit that the item does not have.
  LimitUpdate JoiningLimit(const Limit& limit, const MeterAmounts& amounts) {
    const bool configures = request_.configures();
    LimitUpdate update{.name = limit.name,
                       .extra = !configures,
                       .absent = !configures && amounts.used() == 0,
                       .quota = limit.quota,
                       .share = ShareOf(limit.quota, image_.shards, image_.key.shard)};
    update.before = FullMeter(update.share);
    // The limit may have been removed from the item before it was full. Then it is assumed to be
    // full when the last of the removed limits would have been full (docs/adr/0017).
    if (image_.evicted && image_.evicted->left_full > now_) {
      const auto& [removed_at, full_at] = *image_.evicted;
      update.before = MeterFullIn(update.share, full_at - std::min(removed_at, now_));
      Refill(update.before, removed_at, now_);
    }
    update.conformed = update.before;
    update.judged = update.conformed;
    return update;
  }

  const BucketImage& image_;
  const BucketRequest& request_;
  UnixMillis now_;
  std::int64_t elapsed_;
  std::vector<LimitUpdate> updates_;
};

milliseconds TimeToFull(const LimitUpdate& update) {
  return RetryAfter(update.conformed, update.conformed.quota.capacity);
}

// `allows_debt`: a limit in debt may be evicted, too.
bool MayBeEvicted(const LimitUpdate& update, bool allows_debt) {
  return update.extra && update.old_index != kNotInImage && update.amounts.is_nothing() &&
         !update.evicted && (allows_debt || update.conformed.tokens >= 0);
}

LimitUpdate* NearestToFull(std::vector<LimitUpdate>& updates, bool allows_debt) {
  LimitUpdate* nearest = nullptr;
  for (LimitUpdate& update : updates) {
    if (!MayBeEvicted(update, allows_debt)) continue;
    if (nearest == nullptr || TimeToFull(update) < TimeToFull(*nearest)) nearest = &update;
  }
  return nearest;
}

std::size_t CountStored(const std::vector<LimitUpdate>& updates) {
  return static_cast<std::size_t>(std::ranges::count_if(
      updates, [](const LimitUpdate& update) { return !update.absent && !update.evicted; }));
}

bool Joins(const LimitUpdate& update) { return update.old_index == kNotInImage && !update.absent; }

// Limits in debt can be evicted later, when the debt is repaid; configured limits stay.
std::string WhyNoRoom(const std::vector<LimitUpdate>& updates) {
  const auto evictable = static_cast<std::size_t>(std::ranges::count_if(
      updates, [](const LimitUpdate& update) { return MayBeEvicted(update, true); }));
  if (CountStored(updates) - evictable <= kMaxMeters) {
    return "those that are not configured are in debt; use fewer names, or try again when the debt "
           "is repaid";
  }
  const auto joining = static_cast<std::size_t>(std::ranges::count_if(updates, Joins));
  return fmt::format(
      "{} of them are configured or named in the request; name configured limits, or configure "
      "fewer",
      CountStored(updates) - joining - evictable);
}

Error NoRoom(const std::vector<LimitUpdate>& all, const BucketKey& key) {
  std::vector<std::string> names;
  for (const LimitUpdate& update : all) {
    if (Joins(update)) names.push_back(update.name);
  }
  return {
      Code::kFailedPrecondition,
      fmt::format("{}/{}: no room for limits {}: its bucket holds {} limits at most, and {}",
                  key.entity, key.resource, fmt::join(names, ", "), kMaxMeters, WhyNoRoom(all))};
}

}  // namespace

std::vector<LimitUpdate> LimitUpdatesOf(const BucketImage& image, const BucketRequest& request,
                                        UnixMillis now) {
  return UpdateBuilder(image, request, std::max(now, image.bucket.time)).Make();
}

std::vector<LimitUpdate> NewLimitUpdates(const BucketRequest& request) {
  const Target& target = request.target;
  const BucketImage empty{.key = target.key, .bucket = {}};
  std::vector<LimitUpdate> updates = LimitUpdatesOf(empty, request, {});
  // An adjust of configured limits creates the same item as a take: the limits are configured.
  for (LimitUpdate& update : updates) {
    if (!IsOverride(request)) update.extra = update.absent = false;
  }
  return updates;
}

Status EvictExtras(std::vector<LimitUpdate>& updates, const BucketRequest& request) {
  const bool is_override_take = IsOverride(request) && !request.adjusts;
  // A limit in debt is evicted as a last resort, and never for a take with an override.
  while (CountStored(updates) > kMaxMeters) {
    LimitUpdate* leaving = NearestToFull(updates, false);
    if (leaving == nullptr && !is_override_take) leaving = NearestToFull(updates, true);
    if (leaving == nullptr && !is_override_take) return {};
    if (leaving == nullptr) return Fail(NoRoom(updates, request.target.key));
    leaving->evicted = true;
  }
  return {};
}

std::optional<EvictedLimits> EvictedAfter(const BucketImage& image,
                                          const std::vector<LimitUpdate>& updates, UnixMillis now) {
  std::optional<EvictedLimits> gone = image.evicted;
  if (gone && gone->left_full <= now) gone.reset();
  for (const LimitUpdate& update : updates) {
    if (!update.evicted || TimeToFull(update) == milliseconds(0)) continue;
    const UnixMillis full = now + TimeToFull(update);
    gone = EvictedLimits{now, gone ? std::max(gone->left_full, full) : full};
  }
  return gone;
}

bool Conforms(const BucketImage& image, const std::vector<LimitUpdate>& updates) {
  return std::ranges::all_of(updates, [&](const LimitUpdate& update) {
    if (update.absent) return true;
    return update.old_index != kNotInImage && update.extra == image.IsExtra(update.name) &&
           image.stored[static_cast<std::size_t>(update.old_index)] == update.quota;
  });
}

Status CheckDebt(const std::vector<LimitUpdate>& updates, const BucketKey& key) {
  for (const LimitUpdate& update : updates) {
    if (update.amounts.debits == 0 || CanAdjust(update.conformed, update.amounts.net())) continue;
    return Fail(Code::kOutOfRange,
                fmt::format("{}/{}: debt would exceed {} tokens; nothing is adjusted", key.entity,
                            key.resource, FormatTokens(kMaxDebt)));
  }
  return {};
}

bool Overflows(const LimitUpdate& update) {
  return update.before.tokens + update.gain_up + update.amounts.returns >
         update.before.quota.capacity;
}

}  // namespace weir::dynamo
