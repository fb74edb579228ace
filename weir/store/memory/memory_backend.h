// Shared state in the memory of this process, without persistence.
#pragma once

#include <memory>

#include "weir/base/api.h"
#include "weir/base/time.h"
#include "weir/store/backend.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/store/usage/counted_usage.h"

namespace weir {

/// Returns an empty backend. Every call completes before it returns, so deadlines are ignored.
/// Bucket time begins at the wall time of `clock` and then follows its time since boot
/// (BucketTime::FromWall). `clock` also gives the times of configuration changes and of namespaces,
/// and must outlive the backend. If it is null, bucket time is the callers' `now`, and all other
/// times are 1970.
WEIR_API std::unique_ptr<Backend> MakeMemoryBackend(BucketTableOptions options = {},
                                                    const Clock* clock = nullptr,
                                                    UsageLimits usage = {});

}  // namespace weir
