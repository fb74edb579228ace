// Reads the use that a file stores with its buckets, for a process that only reads the file.
#pragma once

#include "weir/base/result.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/store/usage/pending_usage.h"

namespace weir {

/// Adds the use of all buckets that the filter of `pending` selects, as of the last commit. Use
/// that is unreadable is left out. Reads the whole log of changes, and, without an entity in the
/// filter, all buckets that have use. REQUIRES: the connection reads one snapshot of the file.
[[nodiscard]] Status AddStoredUse(sqlite::Connection& connection, PendingUsage& pending);

}  // namespace weir
