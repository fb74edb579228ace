// The parts that one write on a bucket carries, judged one after the other.
// Mechanism: docs/design/acquire.md, "One write, many parts".
#pragma once

#include <span>
#include <vector>

#include "weir/dynamo/bucket_part.h"
#include "weir/dynamo/limit_updates.h"
#include "weir/dynamo/seen_bucket.h"

namespace weir::dynamo {

/// While others move rf more often than not, it moves only when this much refill is gained.
inline constexpr milliseconds kHold{250};

/// What a take finds.
struct TakeVerdict {
  LimitAmounts available;  ///< of each limit, before it
  milliseconds wait{0};    ///< 0: it fits
  absl::InlinedVector<milliseconds, 4> waits;
};

/// Collects parts with one target for one write. A value that lives as long as one plan: it refers
/// to `seen` and to the target of its first part.
class BucketBatch {
 public:
  /// `leader` gives the target. REQUIRES: seen.is_known().
  BucketBatch(const SeenBucket& seen, const Part& leader, UnixMillis now, Instant at);

  /// The part may share a write with the leader: an equal target, or an adjust of limits that the
  /// leader's target names.
  bool Suits(const Part& part) const;
  /// The target's limits are stored with its parameters.
  bool conforms() const { return conforms_; }

  /// The part is an adjust, or gives back. False, and it is not added: debt would pass kMaxDebt, or
  /// the returns of one write would.
  bool AddAdjust(const Part& part);
  /// Not added unless it fits. `used` (or empty): what other parts, which are not in the batch, may
  /// use, by limit.
  TakeVerdict AddTake(std::span<const std::int64_t> amounts,
                      std::span<const std::int64_t> used = {});
  /// As AddTake; it is never added.
  TakeVerdict Judge(std::span<const std::int64_t> amounts, std::span<const std::int64_t> used = {});

  bool is_empty() const { return parts_ == 0; }
  /// The takes use more than half of the available tokens, so they may not fit when they are
  /// written.
  bool is_tight() const;
  /// For the planner. It refers to this batch.
  BucketRequest Request() const;

 private:
  void MakeLines();
  void Add(std::size_t limit, const MeterAmounts& amounts);
  Meter Judged(std::size_t limit) const;
  milliseconds WaitOf(const Meter& judged, std::int64_t amount) const;
  void Hold();

  const SeenBucket& seen_;
  TargetPtr target_;
  UnixMillis now_;
  milliseconds behind_{0};  // until the bucket's time is reached, or set back
  bool adjusts_;
  bool conforms_ = true;
  std::size_t parts_ = 0;
  /// Over 0: rf is not moved for so long, and the stored balance alone counts until then.
  milliseconds hold_{0};
  std::vector<MeterAmounts> sums_;
  std::vector<LimitUpdate> lines_;
};

/// The targets name the same bucket and the same limits.
bool AreEqual(const Target& a, const Target& b);

}  // namespace weir::dynamo
