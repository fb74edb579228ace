// Judges takes by the image of their bucket, before they are written.
#pragma once

#include <optional>

#include "weir/zae_table/actor/bucket_batch.h"
#include "weir/zae_table/actor/part_queue.h"

namespace weir::dynamo {

/// The time of an event of the protocol.
struct ProtocolTime {
  Instant at;
  UnixMillis bucket_time;
  /// The median of the latest round trips of this process; nothing if there was none lately.
  std::optional<nanoseconds> round_trip{};
};

/// Why a part must not be written: its bucket has other shards than its call assumes.
struct OtherShards {
  bool needs_shards = false;  ///< shards are missing, or have an older count of shards
};
/// Returns nothing if the bucket is divided as the part's call assumes, or in another way that does
/// not matter for the part.
std::optional<OtherShards> DividedOtherwise(const Part& part, const SeenBucket& seen);

/// Returns true if an adjust must not be written, because it would count after Part::counts_by: its
/// write has the effect of one at the time at which the image was seen
/// (BucketRequest::needs_image), and the image was seen later than that, or is refilled until later
/// than that, or the shard that paid is gone. False if the bucket does not exist: it is full then,
/// at any time.
bool CountsTooLate(const Part& adjust, const SeenBucket& seen);

/// Returns the bucket time at which a write of this part is dated: the time of its caller, advanced
/// in steps of kDatedAgainAfter while the part is pending.
UnixMillis DateOf(const Part& part, Instant at);

inline constexpr milliseconds kDatedAgainAfter{250};

/// Whether a take would be charged, as far as this process knows.
struct Opinion {
  enum class Kind {
    kMayPay,
    kRefused,
    kUnknown,   ///< the item is not known, or the decision would rely on an image that is too old
    kOutdated,  ///< Decision::outdated
    kDivided,   ///< the bucket has other shards than the call assumes
  };
  Kind kind = Kind::kUnknown;
  TakeVerdict verdict{};      ///< of kMayPay and kRefused
  bool needs_shards = false;  ///< kDivided: OtherShards::needs_shards
};

/// Judges takes of one bucket at one instant. `seen` must outlive it. A refusal may rely on an
/// image that is no older than `refusal_age`.
class TakeJudge {
 public:
  TakeJudge(const SeenBucket& seen, milliseconds refusal_age, Instant at)
      : seen_(seen), refusal_age_(refusal_age), at_(at) {}

  /// Judges by the image, less the tokens that all pending parts may use.
  Opinion Judge(const Part& take, const PartQueue& pending) const;
  /// Returns true if the take's limits are configured, differ from those that are stored, and were
  /// resolved before the stored ones were seen.
  bool IsOutdated(const Part& take, const BucketBatch& batch) const;
  /// Returns true if a refusal may rely on the image: it is younger than refusal_age, or was seen
  /// after the take began.
  bool IsYoung(const Part& take) const;
  /// Returns true if the take's limits are configured, and differ from those that are stored.
  bool HasOtherLimits(const Part& take) const;

 private:
  BucketBatch BatchOf(const Part& part) const {
    return BucketBatch(seen_, part, DateOf(part, at_), at_);
  }

  const SeenBucket& seen_;
  milliseconds refusal_age_;
  Instant at_;
};

}  // namespace weir::dynamo
