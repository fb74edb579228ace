#include "weir/dynamo/time_ahead.h"

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

constexpr milliseconds kLongAgo = std::chrono::hours(24 * 3650);

// When the image's rf was first seen; nothing: no mark says so, or none that can be true.
std::optional<UnixMillis> MarkedAt(const BucketImage& image, UnixMillis now) {
  if (!image.ahead || image.ahead->rf != image.bucket.time) return std::nullopt;
  const UnixMillis seen = image.ahead->seen;
  if (seen < now - kLongAgo || IsFarAhead(seen, now)) return std::nullopt;
  return seen;
}

void TakeBackEarlyRefill(Expression& e, const BucketImage& image, milliseconds ahead) {
  for (std::size_t i = 0; i < image.names.size(); ++i) {
    const std::int64_t early = EarlyRefill(image.bucket.meters[i], ahead);
    const auto attribute = [&](std::string_view field) {
      return LimitAttribute(image.names[i], field);
    };
    e.Require(attribute("cp"), "=", image.stored[i].capacity);
    e.Require(attribute("ra"), "=", image.stored[i].amount);
    e.Require(attribute("rp"), "=", image.stored[i].period);
    e.Require(attribute("tk"), ">=", early - kMaxDebt);
    e.Add(attribute("tk"), -early);
  }
}

// What left at a time that is far ahead left at the new rf, and is full as much later.
void SetBackGone(Expression& e, const EarlyLeavers& gone, UnixMillis rf) {
  e.RequireEqual(kGone, Of(FormatGone(gone)));
  const bool is_over = gone.left_full <= gone.last_left;
  const milliseconds until_full =
      is_over ? milliseconds(0) : std::min(gone.left_full - gone.last_left, kLongAgo);
  e.Set(kGone, Of(FormatGone({rf, rf + until_full})));
}

// From here on the bucket refills as if its clock had been right since the rest ended.
void SetBack(Expression& e, const BucketImage& image, UnixMillis rf, UnixMillis now) {
  e.Set("rf", Of(rf.value)).Remove(kAhead).Remove(kRemainders);
  TakeBackEarlyRefill(e, image, image.bucket.time - rf);
  if (image.gone && IsFarAhead(image.gone->last_left, now)) SetBackGone(e, *image.gone, rf);
}

}  // namespace

std::optional<UnixMillis> SetBackAt(const BucketImage& image, UnixMillis now) {
  const std::optional<UnixMillis> seen = MarkedAt(image, now);
  if (!seen && !IsFarAhead(image.bucket.time, now)) return std::nullopt;
  const UnixMillis at = seen.value_or(now) + kAheadRest;
  return image.bucket.time > at ? std::optional(at) : std::nullopt;
}

AheadStep NextAheadStep(const BucketImage& image, UnixMillis now) {
  const std::optional<UnixMillis> at = SetBackAt(image, now);
  if (!at) return AheadStep::kNone;
  if (!MarkedAt(image, now)) return AheadStep::kMark;
  return *at <= now ? AheadStep::kSetBack : AheadStep::kNone;
}

std::int64_t EarlyRefill(const Meter& meter, milliseconds ahead) {
  Meter refilled = meter;
  refilled.remainder = 0;
  return std::min(EarnedIn(refilled, ahead.count()).rounded_up, meter.quota.capacity);
}

BucketPlan PlanAheadStep(const Keys& keys, const BucketImage& image, const AheadRequest& request) {
  const auto& [step, now, guard] = request;
  BucketPlan plan{.moves_rf = step == AheadStep::kSetBack, .conforms = false};
  Write write{.key = keys.Bucket(image.key), .item = {}, .expression = {}, .want_new = true};
  Expression& e = write.expression;
  e.RequireExists("PK").Require("rf", "=", image.bucket.time.value);
  if (step == AheadStep::kMark) {
    e.Set(kAhead, Of(FormatAhead({.rf = image.bucket.time, .seen = now})));
  } else {
    SetBack(e, image, *SetBackAt(image, now), now);
    plan.set_back = image.bucket.time - now;
  }
  if (guard != nullptr) Fence(e, *guard);
  plan.writes.push_back(std::move(write));
  return plan;
}

}  // namespace weir::dynamo
