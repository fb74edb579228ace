// Replaces a damaged database by a repaired one, so that a power loss loses neither.
#pragma once

#include <string>

#include "weir/base/result.h"

namespace weir {

/// Holds all locks that SQLite has for a file: while this lives, no process reads or writes the
/// file with SQLite, including this one. Move-only.
class SqliteLocks {
 public:
  /// Takes the locks. Returns kUnavailable if a process has the file open.
  [[nodiscard]] static Result<SqliteLocks> Take(const std::string& path);
  SqliteLocks(SqliteLocks&& other) noexcept;
  SqliteLocks& operator=(SqliteLocks&&) = delete;
  ~SqliteLocks();

 private:
  explicit SqliteLocks(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// Moves the database `with`, which must be closed, to `path`. The replaced database and its
/// write-ahead log are kept under the name `kept_as`. If the process ends meanwhile, the file is as
/// it was, or FinishReplacing can complete the replacement; the same holds after an error.
/// REQUIRES: the caller owns `path`, and has its SqliteLocks.
///
/// with --RenameFile--> path-repaired --FinishReplacing--> path
/// path --LinkFile----> kept_as; path-wal --LinkFile--> kept_as-wal
[[nodiscard]] Status ReplaceDatabase(const std::string& path, const std::string& with,
                                     const std::string& kept_as);
/// Completes the replacement that a killed process began, if there is one. REQUIRES: the caller
/// owns `path`.
[[nodiscard]] Status FinishReplacing(const std::string& path);
/// Returns kUnavailable, with advice, if a replacement is not complete. Then the file must not be
/// opened.
[[nodiscard]] Status CheckReplaced(const std::string& path);

}  // namespace weir
