// Shared state in the memory of this process: nothing outlives it.
#pragma once

#include <memory>

#include "weir/store/backend.h"
#include "weir/store/bucket_table.h"

namespace weir {

/// Every call answers before it returns, so deadlines are not looked at: there is no clock to hold
/// them against, and nothing to wait for.
std::unique_ptr<Backend> MakeMemoryBackend(BucketTableOptions options = {});

}  // namespace weir
