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
      lines_.push_back(Asked(limits[i], request_.sums[i]));
    }
    for (std::size_t i = 0; i < image_.names.size(); ++i) {
      const bool is_there = std::ranges::any_of(
          lines_, [&](const LimitUpdate& line) { return line.old_index == static_cast<int>(i); });
      if (!is_there) lines_.push_back(Left(i));
    }
    return std::move(lines_);
  }

 private:
  // A limit that the request names.
  LimitUpdate Asked(const Limit& limit, const MeterAmounts& amounts) {
    const auto found = std::ranges::find(image_.names, limit.name);
    LimitUpdate line =
        found == image_.names.end()
            ? Joining(limit, amounts)
            : Known(static_cast<std::size_t>(found - image_.names.begin()), limit, amounts);
    line.asked = true;
    line.amounts = amounts;
    return line;
  }

  // A limit that the request names and the item has.
  LimitUpdate Known(std::size_t index, const Limit& limit, const MeterAmounts& amounts) {
    const bool extra = image_.IsExtra(limit.name);
    const bool configures = request_.configures();
    LimitUpdate line = Refilled(index, image_.stored[index]);
    // A full extra holds no history, so an adjust gives it its parameters, too.
    const bool is_full = line.conformed.tokens >= line.conformed.quota.capacity;
    const bool conforms =
        configures || (extra && amounts.used() > 0 && (!request_.adjusts || is_full));
    if (conforms && line.quota != limit.quota) line = Refilled(index, limit.quota);
    line.extra = extra && !configures;
    if (conforms || request_.adjusts) return line;
    // An override is judged by a copy with its own capacity. The copy refills at the stored rate;
    // only an extra's rate would be replaced by a take.
    Quota copy = ShareOf(limit.quota, image_.shards, image_.key.shard);
    if (!extra) {
      copy.amount = line.share.amount;
      copy.period = line.share.period;
    }
    line.least = line.share.capacity - copy.capacity;
    if (copy != line.share) ChangeQuota(line.judged, copy);
    return line;
  }

  // A limit that the request does not name stays. It becomes an extra if the request configures the
  // bucket.
  LimitUpdate Left(std::size_t index) {
    LimitUpdate line = Refilled(index, image_.stored[index]);
    const bool configures = request_.configures();
    line.extra = configures || image_.IsExtra(line.name);
    return line;
  }

  // A limit of the item, refilled until now and changed to `quota`.
  LimitUpdate Refilled(std::size_t index, const Quota& quota) {
    LimitUpdate line{.name = image_.names[index],
                     .old_index = static_cast<int>(index),
                     .quota = quota,
                     .share = ShareOf(quota, image_.shards, image_.key.shard),
                     .before = image_.bucket.meters[index]};
    const Earned earned = EarnedIn(line.before, elapsed_);
    line.gain = earned.whole;
    line.gain_up = earned.rounded_up;
    line.conformed = line.before;
    Refill(line.conformed, elapsed_);
    if (line.conformed.quota != line.share) ChangeQuota(line.conformed, line.share);
    line.judged = line.conformed;
    return line;
  }

  // A limit that the item does not have.
  LimitUpdate Joining(const Limit& limit, const MeterAmounts& amounts) {
    const bool configures = request_.configures();
    LimitUpdate line{.name = limit.name,
                     .extra = !configures,
                     .absent = !configures && amounts.used() == 0,
                     .quota = limit.quota,
                     .share = ShareOf(limit.quota, image_.shards, image_.key.shard)};
    line.before = FullMeter(line.share);
    // It may have been removed from the item before it was full: then it fills as slowly as the
    // last of those (docs/adr/0017).
    if (image_.evicted && image_.evicted->left_full > now_) {
      const auto& [left, full] = *image_.evicted;
      line.before = MeterFullIn(line.share, full - std::min(left, now_));
      Refill(line.before, left, now_);
    }
    line.conformed = line.before;
    line.judged = line.conformed;
    return line;
  }

  const BucketImage& image_;
  const BucketRequest& request_;
  UnixMillis now_;
  std::int64_t elapsed_;
  std::vector<LimitUpdate> lines_;
};

milliseconds TimeToFull(const LimitUpdate& line) {
  return RetryAfter(line.conformed, line.conformed.quota.capacity);
}

// `in_debt`: a limit in debt may be evicted, too.
bool MayBeEvicted(const LimitUpdate& line, bool in_debt) {
  return line.extra && line.old_index != kNotInImage && line.amounts.is_nothing() &&
         !line.evicted && (in_debt || line.conformed.tokens >= 0);
}

LimitUpdate* NearestToFull(std::vector<LimitUpdate>& lines, bool in_debt) {
  LimitUpdate* nearest = nullptr;
  for (LimitUpdate& line : lines) {
    if (!MayBeEvicted(line, in_debt)) continue;
    if (nearest == nullptr || TimeToFull(line) < TimeToFull(*nearest)) nearest = &line;
  }
  return nearest;
}

std::size_t CountStored(const std::vector<LimitUpdate>& lines) {
  return static_cast<std::size_t>(std::ranges::count_if(
      lines, [](const LimitUpdate& line) { return !line.absent && !line.evicted; }));
}

bool Joins(const LimitUpdate& line) { return line.old_index == kNotInImage && !line.absent; }

// Limits in debt can be evicted later, when the debt is repaid; configured limits stay.
std::string WhyNoRoom(const std::vector<LimitUpdate>& lines) {
  const auto in_debt = static_cast<std::size_t>(std::ranges::count_if(
      lines, [](const LimitUpdate& line) { return MayBeEvicted(line, true); }));
  if (CountStored(lines) - in_debt <= kMaxMeters) {
    return "those that are not configured are in debt; use fewer names, or try again when the debt "
           "is repaid";
  }
  const auto joining = static_cast<std::size_t>(std::ranges::count_if(lines, Joins));
  return fmt::format(
      "{} of them are configured or asked for; name configured limits, or configure fewer",
      CountStored(lines) - joining - in_debt);
}

Error NoRoom(const std::vector<LimitUpdate>& lines, const BucketKey& key) {
  std::vector<std::string> names;
  for (const LimitUpdate& line : lines) {
    if (Joins(line)) names.push_back(line.name);
  }
  return {
      Code::kFailedPrecondition,
      fmt::format("{}/{}: no room for limits {}: its bucket holds {} limits at most, and {}",
                  key.entity, key.resource, fmt::join(names, ", "), kMaxMeters, WhyNoRoom(lines))};
}

}  // namespace

std::vector<LimitUpdate> LimitUpdatesOf(const BucketImage& image, const BucketRequest& request,
                                        UnixMillis now) {
  return UpdateBuilder(image, request, std::max(now, image.bucket.time)).Make();
}

std::vector<LimitUpdate> NewLimitUpdates(const BucketRequest& request) {
  const Target& target = request.target;
  const BucketImage none{.key = target.key, .bucket = {}};
  std::vector<LimitUpdate> lines = LimitUpdatesOf(none, request, {});
  // The item is the same for an adjust of configured limits as for a take.
  for (LimitUpdate& line : lines) {
    if (!IsOverride(request)) line.extra = line.absent = false;
  }
  return lines;
}

Status EvictExtras(std::vector<LimitUpdate>& lines, const BucketRequest& request) {
  const bool is_override = IsOverride(request) && !request.adjusts;
  // A limit in debt is evicted as a last resort, and never for a take with an override.
  while (CountStored(lines) > kMaxMeters) {
    LimitUpdate* leaving = NearestToFull(lines, false);
    if (leaving == nullptr && !is_override) leaving = NearestToFull(lines, true);
    if (leaving == nullptr && !is_override) return {};
    if (leaving == nullptr) return Fail(NoRoom(lines, request.target.key));
    leaving->evicted = true;
  }
  return {};
}

std::optional<EvictedLimits> EvictedAfter(const BucketImage& image,
                                          const std::vector<LimitUpdate>& lines, UnixMillis now) {
  std::optional<EvictedLimits> gone = image.evicted;
  if (gone && gone->left_full <= now) gone.reset();
  for (const LimitUpdate& line : lines) {
    if (!line.evicted || TimeToFull(line) == milliseconds(0)) continue;
    const UnixMillis full = now + TimeToFull(line);
    gone = EvictedLimits{now, gone ? std::max(gone->left_full, full) : full};
  }
  return gone;
}

bool Conforms(const BucketImage& image, const std::vector<LimitUpdate>& lines) {
  return std::ranges::all_of(lines, [&](const LimitUpdate& line) {
    if (line.absent) return true;
    return line.old_index != kNotInImage && line.extra == image.IsExtra(line.name) &&
           image.stored[static_cast<std::size_t>(line.old_index)] == line.quota;
  });
}

Status CheckDebt(const std::vector<LimitUpdate>& lines, const BucketKey& key) {
  for (const LimitUpdate& line : lines) {
    if (line.amounts.debits == 0 || CanAdjust(line.conformed, line.amounts.net())) continue;
    return Fail(Code::kOutOfRange,
                fmt::format("{}/{}: debt would pass {} tokens; nothing is adjusted", key.entity,
                            key.resource, FormatTokens(kMaxDebt)));
  }
  return {};
}

bool Overflows(const LimitUpdate& line) {
  return line.before.tokens + line.gain_up + line.amounts.returns > line.before.quota.capacity;
}

}  // namespace weir::dynamo
