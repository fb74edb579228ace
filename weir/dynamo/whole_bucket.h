// A bucket that is divided, read as one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/done.h"
#include "weir/dynamo/bucket_image.h"
#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"

namespace weir::dynamo {

/// The bucket that these are shards of: for each limit the whole quota, and the tokens that the
/// shards hold of it together, each refilled to `now` by its own part of the rate. Never more than
/// they could pay at `now`: parts of a millitoken, shards that are missing, and limits that a shard
/// lacks count as nothing. A wait that is computed from it is a lower bound: a full shard earns
/// nothing for the others. A single bucket that is not divided is as of its own time. REQUIRES: not
/// empty; shards of one bucket, each once.
BucketRecord JoinShards(std::span<const BucketImage> shards, UnixMillis now);

/// A bucket that is to be read.
struct BucketToRead {
  BucketKey key;             ///< of shard 0: the whole; else this shard alone
  std::uint32_t shards = 1;  ///< as far as is known; more are read if the items say so
};

struct BucketSource {
  Table& table;  ///< must outlive each read
  const Keys& keys;
  /// Gets the image of each item that was read, before the result.
  std::function<void(const BucketImage&)> learn;
};

/// In the order of `buckets`, consistently, but not all shards at one moment; nothing for those of
/// which no shard was found. One batch, and another one each time that a bucket turns out to have
/// more shards, at most kMostShards, or seems not to exist: shard 1 is looked for, too. An item
/// that cannot be read is the error.
void ReadBuckets(const BucketSource& source, std::vector<BucketToRead> buckets, Deadline deadline,
                 Done<std::vector<std::optional<BucketRecord>>> done);

}  // namespace weir::dynamo
