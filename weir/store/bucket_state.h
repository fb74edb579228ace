// What a bucket table keeps of one bucket: its configured meters, and the extra ones of limits that
// left or that only requests name. Values and functions of `now`; the caller holds the lock.
// Mechanism: docs/design/store.md.
#pragma once

#include <cstddef>
#include <memory>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/bucket/bucket.h"
#include "weir/store/bucket_store.h"
#include "weir/store/charge.h"

namespace weir {

struct BucketState {
  /// `target->limits[i]` are the parameters of `bucket.meters[i]`. No limits: nothing was resolved
  /// for this bucket yet.
  TargetPtr target;
  Bucket bucket;
  /// Null: no extra meters, and none that left early. Never of the name of a configured one.
  std::unique_ptr<ExtraMeters> extras;
};

/// A bucket that was never used.
BucketState NewBucketState(const TargetPtr& target, UnixMillis now);

BucketState StateOf(BucketRecord record);
BucketRecord RecordOf(const BucketState& state);

/// One limit of a request: a copy of its meter at `now`, with the parameters that the request is
/// judged by.
struct MeterView {
  Meter meter;
  milliseconds behind{0};  ///< by how much `now` is behind the meter's time
};

/// `state`, or `record`, may be null: a bucket that does not exist. Nothing changes.
MeterView ViewOf(const BucketState* state, const Target& target, std::size_t limit, UnixMillis now);
MeterView ViewOf(const BucketRecord* record, const Target& target, std::size_t limit,
                 UnixMillis now);

/// True unless all amounts are 0: such a charge changes nothing.
bool Changes(const Charge& charge);

/// kFailedPrecondition if an override needs more extra meters than fit, because those that are
/// there are in debt.
[[nodiscard]] Status CheckSpace(const BucketState* state, const Charge& charge, UnixMillis now);

/// Takes the amounts of an acquire. A configured target also stores its limits in the bucket.
/// REQUIRES: Changes(charge), CheckSpace, and every amount is covered by its ViewOf.
void Take(BucketState& state, const Charge& charge, UnixMillis now);

/// The change by a refused acquire: a configured target stores its limits in the bucket and takes
/// no tokens, so that its wait holds. False if nothing changes, as for a look and an override.
bool StoreLimits(BucketState& state, const Charge& charge, UnixMillis now);

/// Whether the debts that an adjust leaves keep within kMaxDebt.
bool CanAdjust(const BucketState* state, const Charge& charge, UnixMillis now);

/// Parameters stay as they are. REQUIRES: CanAdjust.
void Adjust(BucketState& state, const Charge& charge, UnixMillis now);

/// Removes extra meters that are full at `now`; true if there were any.
bool RemoveFullExtras(BucketState& state, UnixMillis now);

/// From this time on, the bucket is as one that was never used.
UnixMillis FullAt(const BucketState& state);

}  // namespace weir
