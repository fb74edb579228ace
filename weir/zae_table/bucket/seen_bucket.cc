#include "weir/zae_table/bucket/seen_bucket.h"

#include <utility>

namespace weir::dynamo {
namespace {

// Three surprises in a row make a bucket contended.
constexpr double kWeight = 0.25;
constexpr double kContended = 0.5;

// If an image of an earlier refill arrives within this time after the last image, its response was
// late. If it arrives later, the item was deleted and created again.
constexpr milliseconds kLateFor{1000};

bool SameParameters(const BucketImage& a, const BucketImage& b) {
  return a.names == b.names && a.stored == b.stored && a.extras == b.extras;
}

// Returns true if the rf of `from` was far ahead, and `rf` may be the value to which it was set
// back.
bool IsSetBack(const BucketImage& from, UnixMillis rf) {
  return from.ahead && from.ahead->rf == from.bucket.time && rf >= from.ahead->seen;
}

}  // namespace

bool SeenBucket::Learn(BucketImage image, Source source, Sequence sent, Instant now) {
  if (is_absent() && sent < sent_) return false;
  const bool differs = !image_ || !SameParameters(*image_, image);
  if (image_) {
    const bool is_late = now - seen_at_ < kLateFor && !IsSetBack(*image_, image.bucket.time);
    const bool is_earlier = image.bucket.time < image_->bucket.time ||
                            (image.bucket.time == image_->bucket.time && sent < sent_);
    if (is_earlier && is_late) return false;
    const bool moved = image.bucket.time != image_->bucket.time && source != Source::kMoved;
    if (source != Source::kOwn) surprise_ += ((moved ? 1.0 : 0.0) - surprise_) * kWeight;
    // In a contended bucket others move rf less often, so a single move keeps it contended.
    if (moved && (surprise_ > kContended || IsContended(now))) {
      contended_until_ = now + kContendedFor;
    }
  }
  if (differs) parameters_since_ = now;
  image_ = std::move(image);
  set_back_at_.reset();
  owner_.reset();
  seen_at_ = now;
  sent_ = sent;
  return true;
}

void SeenBucket::LearnAbsent(Owner owner, bool divided, Sequence sent, Instant now) {
  if (image_ && sent < sent_) return;
  sent_ = sent;
  image_.reset();
  set_back_at_.reset();
  owner_ = std::move(owner);
  divided_ = divided;
  seen_at_ = now;
}

void SeenBucket::Forget() {
  image_.reset();
  set_back_at_.reset();
  owner_.reset();
}

}  // namespace weir::dynamo
