// The state of one bucket in a bucket table: its configured meters, and its extra meters for limits
// that are no longer configured or that only requests name. Plain values, and functions that get
// the time as `now`; the caller holds the lock. Mechanism: docs/design/store.md.
//
//   none --> configured          a configured target names the limit
//   none --> extra               an override takes from it, or an adjust names it
//   configured --> extra         a configured target lacks the limit, whose meter is not full
//   extra --> configured         a configured target names the limit again
//   configured --> none          a configured target lacks the limit, whose meter is full
//   extra --> none               the meter is full, or others need the space
//
// "None" means full, unless meters were removed before they were full (ExtraMeters::left_full). A
// bucket whose meters are all full may be removed with its meters.
#pragma once

#include <cstddef>
#include <memory>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/bucket/bucket.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/store/bucket/charge.h"
#include "weir/store/usage/bucket_use.h"

namespace weir {

struct BucketState {
  /// Never null. `target->limits[i]` has the parameters of `bucket.meters[i]`; both lists are empty
  /// until a configured target is stored in this bucket.
  TargetPtr target;
  Bucket bucket;
  /// Null if there are no extra meters, and none was removed before it was full. An extra meter
  /// never has the name of a configured one.
  std::unique_ptr<ExtraMeters> extras;
  BucketUse use{};  ///< counted by CountUse (bucket_counting.h)
};

/// Returns the state of a bucket that was never used. For an override, it has no configured meters.
BucketState NewBucketState(const TargetPtr& target, UnixMillis now);

/// Conversions from and to the stored form.
BucketState StateOf(BucketRecord record);
BucketRecord RecordOf(const BucketState& state);

/// One limit of a request: a copy of its meter, refilled to `now`, with the parameters that apply
/// to the request.
struct MeterView {
  Meter meter;
  milliseconds behind{0};  ///< how far `now` is behind the meter's time
};

/// Returns the view of one limit of `target`. A null `state` or `record` means a bucket that does
/// not exist. Changes nothing.
MeterView ViewOf(const BucketState* state, const Target& target, std::size_t limit, UnixMillis now);
MeterView ViewOf(const BucketRecord* record, const Target& target, std::size_t limit,
                 UnixMillis now);

/// Returns false if all amounts are 0: the charge then changes nothing.
bool Changes(const Charge& charge);

/// Returns kFailedPrecondition if the extra meters that an override needs, together with the others
/// that are in debt, are more than kMaxExtraMeters.
[[nodiscard]] Status CheckSpace(const BucketState* state, const Charge& charge, UnixMillis now);

/// Takes the amounts of an acquire. A configured target also stores its limits in the bucket.
/// REQUIRES: Changes(charge), CheckSpace succeeds, and every amount is covered by its ViewOf.
void Take(BucketState& state, const Charge& charge, UnixMillis now);

/// Makes the change of a refused acquire: a configured target stores its limits in the bucket and
/// takes no tokens, so that the returned wait is correct. A charge whose amounts are all 0 stores
/// its limits only if one of them has less than one token left: a caller that only looks may take
/// this for a refusal. Returns false if nothing changes, as for an override.
bool StoreLimits(BucketState& state, const Charge& charge, UnixMillis now);

/// Returns true if the debts after an adjust are within kMaxDebt. `stores_limits`: AdoptLimits
/// precedes the adjust.
bool CanAdjust(const BucketState* state, const Charge& charge, bool stores_limits, UnixMillis now);

/// Stores the limits of a configured target, as Take does. An override changes nothing.
void AdoptLimits(BucketState& state, const TargetPtr& target, UnixMillis now);

/// Adjusts the balances; parameters do not change. REQUIRES: CanAdjust.
void Adjust(BucketState& state, const Charge& charge, UnixMillis now);

/// Removes extra meters that are full at `now`. Returns true if there were any.
bool RemoveFullExtras(BucketState& state, UnixMillis now);

/// Returns the time from which on the bucket is equivalent to one that was never used.
UnixMillis FullAt(const BucketState& state);

}  // namespace weir
