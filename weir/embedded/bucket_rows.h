// Buckets as a file has them: the log of changes over the table `bucket`.
#pragma once

#include "weir/embedded/change_index.h"
#include "weir/embedded/damage.h"
#include "weir/embedded/sqlite.h"
#include "weir/store/bucket_table.h"
#include "weir/store/config_table.h"

namespace weir {

/// What buckets are loaded into, and by what those that do not read get their limits.
struct BucketsToLoad {
  BucketTable& buckets;       ///< empty
  const ConfigTable& config;  ///< loaded
  DamageReport& damage;
  UnixMillis now;
};

/// The bucket without tokens; debt stays.
BucketRecord EmptiedAt(BucketRecord record, UnixMillis now);

/// Fills `to.buckets`. A bucket whose latest state does not read is noted and is empty (no tokens)
/// as of `to.now`: never more is admitted than if it had been read. Its limits are those of its row
/// in the table, and those that are configured for it; one of which no limit is known is noted, and
/// left out. Errors: SQLite's.
[[nodiscard]] Status LoadBuckets(sqlite::Connection& connection, const ChangeIndex& index,
                                 const BucketsToLoad& to);

}  // namespace weir
