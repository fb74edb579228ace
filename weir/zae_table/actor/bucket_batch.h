// The parts that one write on a bucket carries, judged one after the other.
// Mechanism: docs/design/acquire.md, "Several requests in one write".
#pragma once

#include <span>
#include <vector>

#include "weir/zae_table/actor/bucket_part.h"
#include "weir/zae_table/bucket/limit_updates.h"
#include "weir/zae_table/bucket/seen_bucket.h"

namespace weir::dynamo {

/// In a contended bucket (SeenBucket::IsContended), a write moves `rf` only if `rf` is at least
/// this old, or if half of the time that a limit needs from `rf` until it is full has passed.
inline constexpr milliseconds kMinimumRefillTime{250};

/// The judgement of a take.
struct TakeVerdict {
  LimitAmounts available;                      ///< millitokens of each limit before the take
  milliseconds wait{0};                        ///< the longest of `waits`; 0: the take fits
  absl::InlinedVector<milliseconds, 4> waits;  ///< the wait of each limit
};

/// Collects parts for one write on one target. Short-lived: `seen` must neither change nor be
/// destroyed while the batch exists. Not thread-safe.
class BucketBatch {
 public:
  /// The batch is empty at first, and has the target of `leader`. `now` is the bucket time of the
  /// write, `at` the same instant on the monotonic clock. REQUIRES: seen.is_known().
  BucketBatch(const SeenBucket& seen, const Part& leader, UnixMillis now, Instant at);

  /// Returns true if the part may share a write with the leader. A part that is no adjust may if
  /// the leader is no adjust either, and their targets are equal. An adjust may if the leader's
  /// target names its limits, and the leader is an adjust too, or a take without an override that
  /// changes no parameters.
  bool Suits(const Part& part) const;
  /// Returns true if the item stores the target's limits with the target's parameters, or does not
  /// exist.
  bool conforms() const { return conforms_; }

  /// Adds an adjust or a return. Returns false, and adds nothing, if the debt of a limit, or the
  /// sum of its returns in this write, would exceed kMaxDebt. REQUIRES: part.is_adjust() and
  /// Suits(part).
  bool AddAdjust(const Part& part);
  /// Adds a take if it fits, and returns the verdict. `used`: the millitokens of each limit that
  /// parts outside of this batch may use; empty: none.
  TakeVerdict AddTake(std::span<const std::int64_t> amounts,
                      std::span<const std::int64_t> used = {});
  /// Like AddTake, but never adds the take.
  TakeVerdict Judge(std::span<const std::int64_t> amounts, std::span<const std::int64_t> used = {});

  bool is_empty() const { return parts_ == 0; }
  /// Returns true if one of the adjusts must not count later than a certain time.
  bool is_bounded() const { return is_bounded_; }
  /// Returns true if the takes use more than half of the available tokens of a limit, so that they
  /// may not fit when they are written.
  bool is_tight() const;
  /// Returns the request for the planner. The request refers to this batch.
  BucketRequest Request() const;

 private:
  /// Computes updates_ from the image and the sums.
  void ComputeUpdates();
  void AddAmounts(std::size_t limit, const MeterAmounts& amounts);
  /// Returns the meter that decides whether a take fits. It includes the returns of this batch, but
  /// none of its takes.
  Meter JudgedMeter(std::size_t limit) const;
  milliseconds WaitOf(const Meter& judged, std::int64_t amount) const;
  /// Sets refill_hold_ for a contended bucket.
  void HoldRefill();

  const SeenBucket& seen_;
  TargetPtr target_;
  UnixMillis now_;
  milliseconds unrefilled_for_{0};  // from `now` to the image's rf, or until rf is set back; or 0
  bool adjusts_;                    // the leader is an adjust or a return
  bool conforms_ = true;
  bool is_bounded_ = false;
  std::size_t parts_ = 0;
  /// How long rf must not be moved yet. If this is over 0, takes may use only the stored balance.
  milliseconds refill_hold_{0};
  std::vector<MeterAmounts> sums_;    // indexed by limit of the target
  std::vector<LimitUpdate> updates_;  // the limits of the target first, in their order
};

/// Returns true if the targets name the same bucket, source and limits.
bool AreEqual(const Target& a, const Target& b);

}  // namespace weir::dynamo
