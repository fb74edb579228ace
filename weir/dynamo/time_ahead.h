// A bucket whose `rf` a wrong clock has moved far ahead: how it gets its refill again.
// Mechanism: docs/design/time.md, "Stored times ahead of T in a table".
#pragma once

#include <optional>

#include "weir/dynamo/bucket_plan.h"
#include "weir/store/bucket_time.h"

namespace weir::dynamo {

/// How long `rf` must stay the same before it is set back.
inline constexpr milliseconds kAheadRest{60'000};

enum class AheadStep {
  kNone,
  kMark,     ///< the item is to say since when this `rf` has been seen
  kSetBack,  ///< the mark is old enough
};

/// REQUIRES: responses of the service confirm `now`.
AheadStep NextAheadStep(const BucketImage& image, UnixMillis now);

/// When the `rf` may be set back, which is what it then becomes: kAheadRest after the mark, and
/// after `now` if there is none. Nothing if `rf` is not far ahead, or is reached before that.
std::optional<UnixMillis> SetBackAt(const BucketImage& image, UnixMillis now);

/// What a limit was refilled too early by an `rf` that is ahead by `ahead`: at most its capacity.
/// It is taken back when `rf` is set back, because it is refilled again.
std::int64_t EarlyRefill(const Meter& meter, milliseconds ahead);

struct AheadRequest {
  AheadStep step;
  UnixMillis now;
  const WriteFence::Guard* guard = nullptr;  ///< as BucketRequest::guard
};

/// Plans kMark or kSetBack, on condition of the `rf` that was seen.
BucketPlan PlanAheadStep(const Keys& keys, const BucketImage& image, const AheadRequest& request);

}  // namespace weir::dynamo
