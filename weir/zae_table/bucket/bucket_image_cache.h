// The images of buckets that a process has, for components that use them or obtain other images.
#pragma once

#include <optional>

#include "weir/base/time.h"
#include "weir/zae_table/bucket/bucket_image.h"

namespace weir::dynamo {

/// Thread-safe.
class BucketImageCache {
 public:
  virtual ~BucketImageCache() = default;
  /// Adds a current image.
  virtual void Learn(BucketImage image) = 0;
  /// Discards the image of the bucket, which is no longer valid.
  virtual void Forget(const BucketKey& key) = 0;
  /// Returns the number of shards of the bucket, by the image of the shard with this key; 0 if
  /// there is no image.
  virtual std::uint32_t ShardsOf(const BucketKey& key) = 0;
  /// Returns the image if it was seen at `since` or later.
  virtual std::optional<BucketImage> FindSince(const BucketKey& key, Instant since) = 0;
};

}  // namespace weir::dynamo
