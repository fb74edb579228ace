// A bucket's item as this process last saw it, and how it came to be so.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/time.h"
#include "weir/dynamo/bucket_image.h"
#include "weir/dynamo/bucket_plan.h"

namespace weir::dynamo {

/// The last image of one bucket. It is never trusted by a write, which is conditioned on what it
/// relies on; a refusal relies on it while it is young. A value; not thread-safe.
class SeenBucket {
 public:
  /// How an image was obtained.
  enum class Source {
    kRead,   ///< read, or returned by a write that failed
    kAdded,  ///< left by a write of this process that left rf
    kMoved,  ///< left by a write of this process that moved rf from the last image
    kOwn,    ///< as kMoved, and the last image was current: it says nothing of others
  };
  /// Position of a request among those of this process: later ones see later states, mostly.
  using Sequence = std::uint64_t;
  static constexpr milliseconds kContendedFor{2000};

  /// False: an image of a later request, or of a later refill, is here already. An image of an
  /// earlier refill than that of one that is older than a second replaces it: the item was deleted.
  /// So does one whose `rf` was set back (time_ahead.h), at once.
  bool Learn(BucketImage image, Source source, Sequence sent, Instant now);
  /// The item does not exist, unless an image of a later request is here already. `divided`: shard
  /// 1 of its bucket does.
  void LearnAbsent(Owner owner, bool divided, Sequence sent, Instant now);
  void Forget();
  /// Nothing older than this is to be relied on: the next refusal, and the next plan, need a read.
  void Distrust() { seen_at_ = Instant{INT64_MIN}; }

  /// The `rf` of the image is ahead, and will be set back at this time: refusals say so.
  void ExpectSetBack(UnixMillis at) { set_back_at_ = at; }
  std::optional<UnixMillis> set_back_at() const { return set_back_at_; }

  bool is_known() const { return image_.has_value() || owner_.has_value(); }
  bool is_absent() const { return owner_.has_value(); }
  const BucketImage* image() const { return image_ ? &*image_ : nullptr; }
  const Owner& owner() const { return *owner_; }
  bool is_divided() const { return divided_; }
  Instant seen_at() const { return seen_at_; }
  /// Since when this process knows that the stored parameters are what they are.
  Instant parameters_since() const { return parameters_since_; }
  /// Other processes have moved `rf` more often than not, and at least once in each kContendedFor
  /// since, as they do so less often in a contended bucket; or MarkContended was called within it.
  bool IsContended(Instant now) const { return now < contended_until_; }
  /// Other processes want the bucket too, though this one has moved `rf`.
  void MarkContended(Instant now) { contended_until_ = now + kContendedFor; }

 private:
  std::optional<BucketImage> image_;
  std::optional<Owner> owner_;  // of a bucket that does not exist
  bool divided_ = false;
  std::optional<UnixMillis> set_back_at_;
  Instant seen_at_{INT64_MIN};
  Sequence sent_ = 0;
  Instant parameters_since_{INT64_MIN};
  double surprise_ = 0;  // decayed share of images that others had changed
  Instant contended_until_{INT64_MIN};
};

}  // namespace weir::dynamo
