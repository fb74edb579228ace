// One process owns a file.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// How long to wait for an owner to go.
struct LockWait {
  nanoseconds longest{0};
  /// Between two looks.
  std::function<void(nanoseconds)> sleep = [](nanoseconds time) {
    std::this_thread::sleep_for(time);
  };
};

/// Ownership of `path`, kept by flock(2) on a file `path`-lock beside it that names the owner's
/// process and since when. The kernel lets go when the process ends, however it ends: a lock file
/// that is left behind is harmless, and the next owner rewrites it. Also excludes a second owner
/// inside one process, and one that reaches the file by a symbolic link. A value that can only
/// move.
class FileLock {
 public:
  /// kUnavailable, naming the owner, if there is one after the wait. Who waits looks again after
  /// some milliseconds: there is no order. kPermissionDenied, kNotFound (no such folder),
  /// kResourceExhausted: the lock file cannot be written.
  [[nodiscard]] static Result<FileLock> Take(const std::string& path, UnixMillis now,
                                             const LockWait& wait = {});

  /// Keeps out owners that reach the file, which must be there, by another hard link. kUnavailable
  /// if there is one after the wait. POSIX drops the locks that a process has on a file whenever it
  /// closes one of its descriptors of it, and so does the end of this lock: nothing else in the
  /// process may have the file open in SQLite then.
  [[nodiscard]] Status GuardInode(const std::string& path, const LockWait& wait = {});

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  /// Removes the lock file.
  ~FileLock();

 private:
  FileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  static Result<FileLock> TryToTake(const std::string& path, UnixMillis now);
  Status TryToGuard(const std::string& path) const;

  std::string path_;
  int descriptor_;
  int inode_ = -1;  // of the file itself; -1: not guarded
};

}  // namespace weir
