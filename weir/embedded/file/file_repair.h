// Builds a sound file from the readable records of a damaged one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/embedded/boot_identity.h"
#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/file_check.h"
#include "weir/embedded/file/file_lock.h"
#include "weir/embedded/file/salvage.h"
#include "weir/embedded/file/store_files.h"

namespace weir {

struct FileRepair {
  /// A repair that had been killed was completed first. Its losses are not known.
  bool completed_earlier = false;
  /// New path of the damaged file; empty if it was sound and nothing was changed.
  std::string kept_as;
  Salvaged salvaged;
  DamageReport damage;  ///< the damage of the salvaged rows; damaged ones are left out
  /// Buckets that are without tokens now, because changes of them, or their rows, may be lost.
  std::uint64_t emptied_buckets = 0;
  FileCheck result;  ///< check of the file that now has the path

  /// Returns whether the file lacks records of the damaged one, or may lack them.
  bool lacks_records() const {
    return salvaged.lacks_records() || damage.count() > 0 || completed_earlier;
  }
};

struct RepairOptions {
  const Clock& clock;
  LockWait lock_wait{};  ///< for another process that owns the file
  /// See EmbeddedOptions::boot.
  std::optional<BootIdentity> boot{};
};

/// Copies the readable records of a damaged file into a new file, syncs it, and renames it to the
/// path of the damaged file. The damaged file and its write-ahead log are kept next to the new
/// file, under a free name. A sound file is not changed. If a step before the replacement fails,
/// the file stays as it was. If the repair is killed, the file is as it was, or can only be opened
/// by another repair, which completes the first one. Returns kUnavailable if a process has the file
/// open, or owns it.
[[nodiscard]] Result<FileRepair> RepairFile(const StoreFile& file, const RepairOptions& options);

}  // namespace weir
