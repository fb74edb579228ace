// Reads a divided bucket as one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Returns the bucket that these are shards of: for each limit the quota of the whole bucket, and
/// the tokens of all shards, each refilled to `now` by its own part of the rate. The sum is never
/// more than the shards could pay at `now`: fractions of a millitoken, missing shards, and limits
/// that a shard lacks count as nothing. A wait that is computed from the sum is a lower bound,
/// since a full shard earns nothing for the others. A bucket that is not divided is returned as of
/// its own time, not refilled to `now`. REQUIRES: not empty; shards of one bucket, each once.
BucketRecord JoinShards(std::span<const BucketImage> shards, UnixMillis now);

/// A bucket to be read.
struct BucketToRead {
  BucketKey key;             ///< shard 0: the whole bucket; else this shard alone
  std::uint32_t shards = 1;  ///< as far as is known; more are read if the items say so
};

struct BucketSource {
  Table& table;  ///< must outlive each read
  const Keys& keys;
  /// Receives the image of each item that was read, before the result is reported.
  std::function<void(const BucketImage&)> learn;
};

/// Reads buckets, and reports them in the order of `buckets`, or nothing for one without any shard.
/// The reads are consistent, but not all shards are read at the same time. Sends one batch, and
/// another one each time that a bucket turns out to have more shards (at most kMaxShards) or seems
/// not to exist: then shard 1 is read, too. Fails if an item cannot be read.
void ReadBuckets(const BucketSource& source, std::vector<BucketToRead> buckets, Deadline deadline,
                 Done<std::vector<std::optional<BucketRecord>>> done);

}  // namespace weir::dynamo
