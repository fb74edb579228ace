// Puts a repaired database where the damaged one is, so that a power loss loses neither.
#pragma once

#include <string>

#include "weir/base/result.h"

namespace weir {

/// All locks that SQLite knows of a file: while this lives, no process reads or writes the file
/// with SQLite, including this one. Move-only.
class SqliteLocks {
 public:
  /// kUnavailable if a process has the file open.
  [[nodiscard]] static Result<SqliteLocks> Take(const std::string& path);
  SqliteLocks(SqliteLocks&& other) noexcept;
  SqliteLocks& operator=(SqliteLocks&&) = delete;
  ~SqliteLocks();

 private:
  explicit SqliteLocks(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// Puts the database `with`, which is closed, where the one at `path` is; that one and its
/// write-ahead log are `kept_as` then. A process that ends in between leaves the file as it was, or
/// what FinishReplacing finishes. After an error the file is as it was, or that is left to do.
/// REQUIRES: the caller owns `path`, and has its SqliteLocks.
[[nodiscard]] Status ReplaceDatabase(const std::string& path, const std::string& with,
                                     const std::string& kept_as);
/// Finishes what a killed process began, if there is such a thing. REQUIRES: the caller owns
/// `path`.
[[nodiscard]] Status FinishReplacing(const std::string& path);
/// kUnavailable, with the remedy: that is still to be done, so the file must not be opened.
[[nodiscard]] Status CheckReplaced(const std::string& path);

}  // namespace weir
