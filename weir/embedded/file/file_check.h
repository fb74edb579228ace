// Reads a whole file and reports its damage.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/store_files.h"

namespace weir {

/// The result of reading a whole file.
struct FileCheck {
  std::map<std::string, std::uint64_t, std::less<>> rows;  ///< keyed by table
  DamageReport damage;
  bool is_log_examined = false;
  std::string log_error;  ///< why the log is not examined

  bool sound() const { return damage.count() == 0; }
};

/// Reads every page and every row. Changes nothing, also if the file is of an older version.
/// Unreadable rows are damage; unreadable pages are damage of the table "page". If no other
/// connection has the file open and the file can be written, the write-ahead log is examined too: a
/// log that may lack commits is damage of the table "log". Returns an error if the file or its log
/// cannot be read at all (kPermissionDenied, kNotFound, kUnavailable: another process has
/// exclusive access, or a repair has not ended), or is not a file that this weir reads
/// (kFailedPrecondition).
[[nodiscard]] Result<FileCheck> CheckFile(const StoreFile& file, UnixMillis now);

}  // namespace weir
