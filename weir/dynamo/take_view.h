// Judgements of one take before it is written, by the image of its bucket.
#pragma once

#include <optional>

#include "weir/dynamo/bucket_batch.h"
#include "weir/dynamo/part_queue.h"

namespace weir::dynamo {

/// When an event of the protocol happens.
struct Moment {
  Instant at;
  UnixMillis bucket_time;
  /// The median of the latest round trips of this process; nothing if there was none lately.
  std::optional<nanoseconds> round_trip{};
};

/// The part must not be written: its bucket is divided otherwise than its call assumes.
struct OtherShards {
  bool is_missing = false;  ///< shards are missing, or have an older count of shards
};
std::optional<OtherShards> DividedOtherwise(const Part& part, const SeenBucket& seen);

/// A write of this part is dated by its caller's time; after kDatedAgainAfter by a later one.
UnixMillis DateOf(const Part& part, Instant at);

inline constexpr milliseconds kDatedAgainAfter{250};

/// Whether a take would be charged, as far as is known.
struct Opinion {
  enum class Kind {
    kMayPay,
    kRefused,
    kUnknown,   ///< the item is not known, or an answer would rely on an image that is too old
    kOutdated,  ///< Decision::outdated
    kDivided,   ///< the bucket has other shards than the call assumes
  };
  Kind kind = Kind::kUnknown;
  TakeVerdict verdict{};    ///< of kMayPay and kRefused
  bool is_missing = false;  ///< of kDivided: OtherShards::is_missing
};

/// Judges takes of one bucket at one instant. Keeps a reference to `seen`. A refusal may rely on
/// an image that is no older than `refusal_age`.
class TakeView {
 public:
  TakeView(const SeenBucket& seen, milliseconds refusal_age, Instant at)
      : seen_(seen), refusal_age_(refusal_age), at_(at) {}

  /// By the image, less what all pending parts may use.
  Opinion Judge(const Part& take, const PartQueue& pending) const;
  /// Other parameters are stored than its target names, and were seen after these were resolved.
  bool IsOutdated(const Part& take, const BucketBatch& batch) const;
  /// A refusal may rely on the image.
  bool IsYoung(const Part& take) const;
  /// The take's limits are configured, and are not those that are stored.
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
