// A bucket's item as this process last saw it, and whether other processes change it.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/time.h"
#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/bucket/bucket_plan.h"

namespace weir::dynamo {

/// The last image of one bucket. No write trusts it: each is conditioned on the values that it
/// relies on. A refusal relies on it while it is young. A value; not thread-safe.
class SeenBucket {
 public:
  /// How an image was obtained.
  enum class Source {
    kRead,   ///< read, or returned by a write that failed
    kAdded,  ///< stored by a write of this process that did not move rf
    kMoved,  ///< stored by a write of this process that moved rf from that of the last image
    kOwn,    ///< as kMoved, but the last image was read: it shows nothing of other processes
  };
  /// The position of a request among those of this process. Later ones mostly see later states.
  using Sequence = std::uint64_t;
  static constexpr milliseconds kContendedFor{2000};

  /// Replaces the image. Returns false, and keeps the present state (an image, or that the item
  /// does not exist), if this state is of a later request or of a later refill. An image of an
  /// earlier refill is accepted if the present image is older than a second, because the item was
  /// then deleted and created again; and at once if `rf` was set back (time_ahead.h).
  bool Learn(BucketImage image, Source source, Sequence sent, Instant now);
  /// Records that the item does not exist, unless the last image is of a later request. `divided`:
  /// shard 1 of its bucket exists.
  void LearnAbsent(Owner owner, bool divided, Sequence sent, Instant now);
  void Forget();
  /// Makes the next refusal and the next plan read the item: nothing older may be relied on.
  void Distrust() { seen_at_ = Instant{INT64_MIN}; }

  /// The `rf` of the image is ahead, and will be set back at this time. Refusals report that.
  void ExpectSetBack(UnixMillis at) { set_back_at_ = at; }
  std::optional<UnixMillis> set_back_at() const { return set_back_at_; }

  bool is_known() const { return image_.has_value() || owner_.has_value(); }
  bool is_absent() const { return owner_.has_value(); }
  const BucketImage* image() const { return image_ ? &*image_ : nullptr; }
  const Owner& owner() const { return *owner_; }
  bool is_divided() const { return divided_; }
  Instant seen_at() const { return seen_at_; }
  /// Returns the time since which this process knows the stored parameters.
  Instant parameters_since() const { return parameters_since_; }
  /// Returns true if other processes moved `rf` before most of the latest images, and have moved it
  /// at least once in each kContendedFor since (in a contended bucket they do so less often); or if
  /// MarkContended was called within kContendedFor.
  bool IsContended(Instant now) const { return now < contended_until_; }
  /// Other processes use the bucket too, although this one has moved `rf`.
  void MarkContended(Instant now) { contended_until_ = now + kContendedFor; }

 private:
  std::optional<BucketImage> image_;
  std::optional<Owner> owner_;  // the owner of a bucket that does not exist
  bool divided_ = false;
  std::optional<UnixMillis> set_back_at_;
  Instant seen_at_{INT64_MIN};
  Sequence sent_ = 0;
  Instant parameters_since_{INT64_MIN};
  double surprise_ = 0;  // decayed share of the images before which others had moved rf
  Instant contended_until_{INT64_MIN};
};

}  // namespace weir::dynamo
