#include "weir/zae_table/bucket/time_ahead.h"

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

constexpr milliseconds kLongAgo = std::chrono::hours(24 * 3650);

// An rf that is less far ahead is not set back: bucket time reaches it soon. The times of Weir's
// processes differ by less, so a correct rf is not set back even if a process whose time is behind
// has marked it.
constexpr milliseconds kLeastAhead{10'000};

// The process that wrote a mark may have a time that is ahead by this much.
constexpr milliseconds kMarkLead{2'000};

// Returns true if a mark or a set-back may have been made at this time.
bool IsPlausible(UnixMillis past, UnixMillis now) {
  return past >= now - kLongAgo && !IsFarAhead(past, now);
}

// Returns when the image's rf was first seen; nothing if no mark, or only an implausible one, says
// so.
std::optional<UnixMillis> MarkedAt(const BucketImage& image, UnixMillis now) {
  if (!image.ahead || image.ahead->rf != image.bucket.time) return std::nullopt;
  if (!IsPlausible(image.ahead->seen, now)) return std::nullopt;
  return image.ahead->seen;
}

// For a mark of another rf: returns true if the mark is so young that the client which moves rf is
// still active.
bool IsMarkedLately(const BucketImage& image, UnixMillis now) {
  return image.ahead && image.ahead->seen <= now + kMarkLead && image.ahead->seen > now - kMarkRest;
}

// Returns the time in which the slowest limit fills.
milliseconds FillTime(const BucketImage& image) {
  double longest = 0;
  for (const Meter& meter : image.bucket.meters) {
    const Quota& quota = meter.quota;
    longest =
        std::max(longest, static_cast<double>(quota.capacity) / static_cast<double>(quota.amount) *
                              static_cast<double>(quota.period));
  }
  return milliseconds(
      static_cast<std::int64_t>(std::min(longest, static_cast<double>(kLongAgo.count()))));
}

// Limits that were removed at a time far ahead are recorded as removed at the new rf. The time that
// they need to be full stays the same.
void SetBackGone(Expression& e, const BucketImage& image, UnixMillis rf) {
  const EvictedLimits& gone = *image.evicted;
  e.RequireEqual(kGone, Of(*image.stored_gone));
  const bool is_over = gone.left_full <= gone.last_left;
  const milliseconds until_full =
      is_over ? milliseconds(0) : std::min(gone.left_full - gone.last_left, kLongAgo);
  e.Set(kGone, Of(FormatGone({rf, rf + until_full})));
}

// From now on the bucket refills as if its clock had been correct since the rest (kAheadRest)
// ended. `wcu` was not refilled while rf was ahead, and shows nothing about the load, so it is
// filled.
void SetBack(Expression& e, const BucketImage& image, UnixMillis rf, UnixMillis now) {
  e.Set("rf", Of(rf.value)).Remove(kAhead).Remove(kRemainders).Set(kLastSetBack, Of(now.value));
  if (image.evicted && IsFarAhead(image.evicted->last_left, now)) SetBackGone(e, image, rf);
  if (image.wcu) e.Set(LimitAttribute(kWriteLimit, "tk"), Of(image.wcu->quota.capacity));
}

// A set-back gives up to one capacity a second time. Without a rest, a client that is ahead and
// active could get it again and again.
UnixMillis SetBackRestEnd(const BucketImage& image, UnixMillis now) {
  if (!image.last_set_back || !IsPlausible(*image.last_set_back, now)) return {INT64_MIN};
  return *image.last_set_back + FillTime(image);
}

}  // namespace

std::optional<UnixMillis> SetBackAt(const BucketImage& image, UnixMillis now) {
  const UnixMillis rf = image.bucket.time;
  const std::optional<UnixMillis> marked = MarkedAt(image, now);
  if (marked ? rf <= now + kLeastAhead : !IsFarAhead(rf, now)) return std::nullopt;
  const UnixMillis at = std::max(marked.value_or(now) + kAheadRest, SetBackRestEnd(image, now));
  return rf > at + kLeastAhead ? std::optional(at) : std::nullopt;
}

AheadStep NextAheadStep(const BucketImage& image, UnixMillis now) {
  const std::optional<UnixMillis> at = SetBackAt(image, now);
  if (!at) return AheadStep::kNone;
  if (MarkedAt(image, now)) return *at <= now ? AheadStep::kSetBack : AheadStep::kNone;
  return IsMarkedLately(image, now) ? AheadStep::kNone : AheadStep::kMark;
}

BucketPlan PlanAheadStep(const Keys& keys, const BucketImage& image, const AheadRequest& request) {
  const auto& [step, now, guard] = request;
  BucketPlan plan{.moves_rf = step == AheadStep::kSetBack, .conforms = false};
  Write write{.key = keys.Bucket(image.key), .item = {}, .expression = {}, .want_new = true};
  Expression& e = write.expression;
  e.RequireExists("PK").Require("rf", "=", image.bucket.time.value);
  e.RequireSame(kAhead, image.stored_ahead);
  if (step == AheadStep::kMark) {
    e.Set(kAhead, Of(FormatAhead({.rf = image.bucket.time, .seen = now})));
  } else {
    SetBack(e, image, *SetBackAt(image, now), now);
    plan.set_back = image.bucket.time - now;
  }
  if (guard != nullptr) AddFence(e, *guard);
  plan.writes.push_back(std::move(write));
  return plan;
}

}  // namespace weir::dynamo
