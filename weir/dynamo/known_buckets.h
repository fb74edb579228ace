// What a process knows of its buckets, for those who learn more of them.
#pragma once

#include "weir/dynamo/bucket_image.h"

namespace weir::dynamo {

/// Thread-safe.
class KnownBuckets {
 public:
  virtual ~KnownBuckets() = default;
  /// The image is current.
  virtual void Learn(BucketImage image) = 0;
  /// The image that is known of the bucket does not hold any more.
  virtual void Forget(const BucketKey& key) = 0;
  /// Into how many shards the bucket of this key is divided, by the image of this shard; 0 if none
  /// is known.
  virtual std::uint32_t ShardsOf(const BucketKey& key) = 0;
};

}  // namespace weir::dynamo
