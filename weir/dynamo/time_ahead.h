// A bucket whose `rf` a wrong clock has moved far ahead: how it gets its refill again.
// Mechanism: docs/design/time.md, "In a table".
#pragma once

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

/// When an `rf` that is far ahead may be set back, at the latest kAheadRest from `now`.
UnixMillis SetBackAt(const BucketImage& image, UnixMillis now);

struct AheadRequest {
  AheadStep step;
  UnixMillis now;
  const WriteFence::Guard* guard = nullptr;  ///< as BucketRequest::guard
};

/// Plans kMark or kSetBack, on condition of the `rf` that was seen. No balance changes.
BucketPlan PlanAheadStep(const Keys& keys, const BucketImage& image, const AheadRequest& request);

}  // namespace weir::dynamo
