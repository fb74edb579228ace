// Copies a file while other processes write to it.
#pragma once

#include <string>

#include "weir/base/result.h"
#include "weir/embedded/file/store_files.h"

namespace weir {

/// Copies the file as of one moment to `to`, which must not exist (else kAlreadyExists), also while
/// other processes write to it. The copy is on disk when this returns.
[[nodiscard]] Status BackUpFile(const StoreFile& file, const std::string& to);

}  // namespace weir
