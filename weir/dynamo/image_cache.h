// The last image of each bucket that this process saw.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <optional>
#include <string_view>

#include "weir/base/mutex.h"
#include "weir/dynamo/bucket_image.h"

namespace weir::dynamo {

/// Also, of each, how often it turned out that others had moved `rf` meanwhile.
///
/// What is remembered is never trusted: every write is conditioned on what it relies on. So a
/// stale or forgotten image costs a request, and nothing else. Bounded. Thread-safe.
class ImageCache {
 public:
  explicit ImageCache(std::size_t capacity) : capacity_of_stripe_(capacity / kStripes + 1) {}

  std::optional<BucketImage> Find(const BucketKey& key);
  /// Unless one of a later refill is there: answers may arrive out of order.
  /// An image of an earlier refill than that of one that is kNewerFor older replaces it all the
  /// same: the item was deleted, or set back.
  void Put(BucketImage image, Instant seen_at);
  /// Parameters of the bucket are about to be stored without taking; Find tells when.
  void NoteRepair(const BucketKey& key, Instant at);
  void Forget(const BucketKey& key);
  void ForgetEntity(std::string_view entity);
  /// Into how many shards the bucket of this key is divided, by what is remembered of it; 0 where
  /// nothing is.
  std::uint32_t ShardsOf(const BucketKey& key);

 private:
  static constexpr std::size_t kStripes = 64;
  static constexpr milliseconds kNewerFor{1000};

  struct Entry {
    BucketImage image;
    double surprise = 0;  // decayed share of images that others had changed
    Instant repaired_at{INT64_MIN};
  };
  struct Stripe {
    Mutex mutex;
    absl::flat_hash_map<BucketKey, Entry, BucketKeyHash> images WEIR_GUARDED_BY(mutex);
  };
  static void Update(Entry& entry, BucketImage image);
  Stripe& StripeOf(const BucketKey& key) { return stripes_[(HashOf(key) >> 40) % kStripes]; }

  std::size_t capacity_of_stripe_;
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace weir::dynamo
