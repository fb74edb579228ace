// Loads the buckets of a file: the log of changes overrides the table `bucket`.
#pragma once

#include "weir/embedded/commit/change_index.h"
#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/store/config/config_table.h"

namespace weir {

/// The tables to load into, and the sources for the limits of unreadable buckets.
struct BucketsToLoad {
  BucketTable& buckets;       ///< loaded into; must be empty
  const ConfigTable& config;  ///< must be loaded already
  DamageReport& damage;
  UnixMillis now;
};

/// Returns a bucket without tokens as of `now`, with the limits that are configured for it. Limits
/// that it gets later have no tokens either.
BucketRecord EmptyBucket(BucketKey key, const ConfigTable& config, UnixMillis now);

/// Returns the bucket without tokens, as of `now` or its own later time. Debt stays.
BucketRecord EmptiedAt(BucketRecord record, UnixMillis now);

/// Fills `context.buckets`. If the latest state of a bucket is unreadable, this is noted and the
/// bucket is loaded without tokens as of `context.now`, so that it never admits more than if its
/// state had been read. Its limits are then those of its row in the table and of its last readable
/// change, and those that are configured for it. Debts in these two stay. A row whose key is
/// unreadable is noted and left out. Returns errors of SQLite only.
[[nodiscard]] Status LoadBuckets(sqlite::Connection& connection, const ChangeIndex& index,
                                 const BucketsToLoad& context);

}  // namespace weir
