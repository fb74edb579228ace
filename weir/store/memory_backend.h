// Shared state in the memory of this process: nothing outlives it.
#pragma once

#include <memory>

#include "weir/base/time.h"
#include "weir/store/backend.h"
#include "weir/store/bucket_table.h"

namespace weir {

/// Every call answers before it returns, so deadlines are not looked at: there is no clock to hold
/// them against, and nothing to wait for. `clock` tells when the configuration was changed and a
/// namespace registered, and must outlive the backend; null: all of that happened in 1970.
std::unique_ptr<Backend> MakeMemoryBackend(BucketTableOptions options = {},
                                           const Clock* clock = nullptr);

}  // namespace weir
