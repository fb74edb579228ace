// Shared state in the memory of this process: nothing outlives it.
#pragma once

#include <memory>

#include "weir/base/time.h"
#include "weir/store/backend.h"
#include "weir/store/bucket_table.h"

namespace weir {

/// Every call answers before it returns, so deadlines are not looked at: there is no clock to hold
/// them against, and nothing to wait for. `clock` is what bucket time is made of
/// when it is opened, and tells when the configuration was changed and a namespace registered; it
/// must outlive the backend. Null: bucket time is what callers pass, and all else happened in 1970.
std::unique_ptr<Backend> MakeMemoryBackend(BucketTableOptions options = {},
                                           const Clock* clock = nullptr);

}  // namespace weir
