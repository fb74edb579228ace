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

/// The time at which `rf` may be set back, and its new value then: kAheadRest after the mark, or
/// after `now` if there is no mark. Nothing if `rf` is not far ahead, or is reached before that.
std::optional<UnixMillis> SetBackAt(const BucketImage& image, UnixMillis now);

/// The refill of a limit, in millitokens, that an `rf` which is ahead by `ahead` gave too early: at
/// most its capacity. A set-back takes it back, because the limit gets it a second time.
std::int64_t EarlyRefill(const Meter& meter, milliseconds ahead);

struct AheadRequest {
  AheadStep step;
  UnixMillis now;
  const WriteFence::Guard* guard = nullptr;  ///< as BucketRequest::guard
};

/// Plans kMark or kSetBack, on condition of the `rf` that was seen.
BucketPlan PlanAheadStep(const Keys& keys, const BucketImage& image, const AheadRequest& request);

}  // namespace weir::dynamo
