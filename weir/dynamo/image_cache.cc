#include "weir/dynamo/image_cache.h"

#include <utility>

namespace weir::dynamo {

std::optional<BucketImage> ImageCache::Find(const BucketKey& key) {
  Stripe& stripe = StripeOf(key);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.images.find(key);
  if (found == stripe.images.end()) return std::nullopt;
  return found->second;
}

void ImageCache::Put(BucketImage image) {
  Stripe& stripe = StripeOf(image.key);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.images.find(image.key);
  if (found != stripe.images.end()) {
    if (image.bucket.time >= found->second.bucket.time) found->second = std::move(image);
    return;
  }
  // The hash scatters them: the first is as good as a random one.
  if (stripe.images.size() >= capacity_of_stripe_) stripe.images.erase(stripe.images.begin());
  BucketKey key = image.key;
  stripe.images.emplace(std::move(key), std::move(image));
}

void ImageCache::Forget(const BucketKey& key) {
  Stripe& stripe = StripeOf(key);
  const MutexLock lock(stripe.mutex);
  stripe.images.erase(key);
}

}  // namespace weir::dynamo
