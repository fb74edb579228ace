// One process owns a file.
#pragma once

#include <string>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// Ownership of `path`, kept by flock(2) on a file `path`-lock beside it that names the owner's
/// process and since when. The kernel lets go when the process ends, however it ends: a lock file
/// that is left behind is harmless, and the next owner rewrites it. Also excludes a second owner
/// inside one process. A value that can only move.
class FileLock {
 public:
  /// kUnavailable, naming the owner, where there is one. kPermissionDenied, kNotFound (no such
  /// folder), kResourceExhausted: the lock file cannot be written.
  [[nodiscard]] static Result<FileLock> Take(const std::string& path, UnixMillis now);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  /// Removes the lock file.
  ~FileLock();

 private:
  FileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

}  // namespace weir
