// Sets back the `rf` of a bucket that a wrong clock has moved far ahead, so that the bucket is
// refilled again. Mechanism: docs/design/time.md, "Stored times ahead of T in a table".
#pragma once

#include <optional>

#include "weir/base/bucket_time.h"
#include "weir/zae_table/bucket/bucket_plan.h"

namespace weir::dynamo {

/// How long `rf` must stay the same before it is set back.
inline constexpr milliseconds kAheadRest{60'000};
/// A mark is replaced after this time at the earliest, so that a client which moves `rf` all the
/// time causes few writes.
inline constexpr milliseconds kMarkRest{10'000};

enum class AheadStep {
  kNone,
  kMark,     ///< the item is to record the time at which this `rf` was first seen
  kSetBack,  ///< the mark is old enough
};

/// Returns the step that is due. REQUIRES: responses of the service confirm `now`.
AheadStep NextAheadStep(const BucketImage& image, UnixMillis now);

/// Returns the time at which `rf` may be set back, which is also its new value: kAheadRest after
/// the mark, or after `now` if there is no mark, but not before the bucket could have been filled
/// since the last set-back. Returns nothing if `rf` is not far ahead of `now`, or if bucket time
/// reaches `rf` by about that time anyway.
std::optional<UnixMillis> SetBackAt(const BucketImage& image, UnixMillis now);

struct AheadRequest {
  AheadStep step;
  UnixMillis now;
  const WriteFence::Guard* guard = nullptr;  ///< see BucketRequest::guard
};

/// Plans kMark or kSetBack, on condition of the `rf` and the mark that were seen.
BucketPlan PlanAheadStep(const Keys& keys, const BucketImage& image, const AheadRequest& request);

}  // namespace weir::dynamo
