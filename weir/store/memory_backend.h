// Shared state in the memory of this process: nothing outlives it.
#pragma once

#include <memory>

#include "weir/store/backend.h"
#include "weir/store/bucket_table.h"

namespace weir {

/// Every call answers before it returns.
std::unique_ptr<Backend> MakeMemoryBackend(BucketTableOptions options = {});

}  // namespace weir
