#include "weir/dynamo/image_cache.h"

#include <utility>

namespace weir::dynamo {
namespace {

// Three surprises in a row make it so, and three images without one end it.
constexpr double kWeight = 0.25;
constexpr double kContended = 0.5;

}  // namespace

std::optional<BucketImage> ImageCache::Find(const BucketKey& key) {
  Stripe& stripe = StripeOf(key);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.images.find(key);
  if (found == stripe.images.end()) return std::nullopt;
  std::optional<BucketImage> image = found->second.image;
  image->contended = found->second.surprise > kContended;
  image->repaired_at = found->second.repaired_at;
  return image;
}

void ImageCache::Update(Entry& entry, BucketImage image) {
  const bool is_late = image.seen_at - entry.image.seen_at < kNewerFor;
  if (image.bucket.time < entry.image.bucket.time && is_late) return;
  using Source = BucketImage::Source;
  const bool moved = image.source == Source::kSeen && image.bucket.time != entry.image.bucket.time;
  if (image.source != Source::kOwn) {
    entry.surprise += ((moved ? 1.0 : 0.0) - entry.surprise) * kWeight;
  }
  entry.image = std::move(image);
}

void ImageCache::Put(BucketImage image, Instant seen_at) {
  image.seen_at = seen_at;
  Stripe& stripe = StripeOf(image.key);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.images.find(image.key);
  if (found != stripe.images.end()) {
    return Update(found->second, std::move(image));
  }
  // The hash scatters them: the first is as good as a random one.
  if (stripe.images.size() >= capacity_of_stripe_) stripe.images.erase(stripe.images.begin());
  BucketKey key = image.key;
  stripe.images.emplace(std::move(key), Entry{std::move(image)});
}

void ImageCache::NoteRepair(const BucketKey& key, Instant at) {
  Stripe& stripe = StripeOf(key);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.images.find(key);
  if (found != stripe.images.end()) found->second.repaired_at = at;
}

void ImageCache::Forget(const BucketKey& key) {
  Stripe& stripe = StripeOf(key);
  const MutexLock lock(stripe.mutex);
  stripe.images.erase(key);
}

void ImageCache::ForgetEntity(std::string_view entity) {
  for (Stripe& stripe : stripes_) {
    const MutexLock lock(stripe.mutex);
    absl::erase_if(stripe.images, [&](const auto& entry) { return entry.first.entity == entity; });
  }
}

std::uint32_t ImageCache::ShardsOf(const BucketKey& key) {
  Stripe& stripe = StripeOf(key);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.images.find(key);
  return found == stripe.images.end() ? 0 : found->second.image.shards;
}

}  // namespace weir::dynamo
