#include "weir/dynamo/time_ahead.h"

#include <utility>

namespace weir::dynamo {
namespace {

// When the image's rf was first seen; nothing: no mark says so.
std::optional<UnixMillis> SeenAt(const BucketImage& image, UnixMillis now) {
  const bool is_of_this_time = image.ahead && image.ahead->rf == image.bucket.time;
  if (!is_of_this_time || IsFarAhead(image.ahead->seen, now)) return std::nullopt;
  return image.ahead->seen;
}

// From here on the bucket refills as if its clock had been right since the rest ended.
void SetBack(Expression& e, const BucketImage& image, UnixMillis now) {
  const UnixMillis rf = SetBackAt(image, now);
  e.RequireEqual(kAhead, Of(FormatAhead(*image.ahead)));
  e.Set("rf", Of(rf.value)).Remove(kAhead).Remove(kRemainders);
  if (!image.gone || !IsFarAhead(image.gone->last_left, now)) return;
  const milliseconds by = image.gone->last_left - rf;
  e.RequireEqual(kGone, Of(FormatGone(*image.gone)));
  e.Set(kGone, Of(FormatGone({rf, image.gone->left_full - by})));
}

}  // namespace

AheadStep NextAheadStep(const BucketImage& image, UnixMillis now) {
  if (!IsFarAhead(image.bucket.time, now)) return AheadStep::kNone;
  const std::optional<UnixMillis> seen = SeenAt(image, now);
  if (!seen) return AheadStep::kMark;
  return *seen + kAheadRest <= now ? AheadStep::kSetBack : AheadStep::kNone;
}

UnixMillis SetBackAt(const BucketImage& image, UnixMillis now) {
  return SeenAt(image, now).value_or(now) + kAheadRest;
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
    SetBack(e, image, now);
    plan.set_back = image.bucket.time - now;
  }
  if (guard != nullptr) Fence(e, *guard);
  plan.writes.push_back(std::move(write));
  return plan;
}

}  // namespace weir::dynamo
