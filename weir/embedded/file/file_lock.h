// Ownership of a file by one process.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// How long to wait for the owner of a file to release it.
struct WEIR_API LockWait {
  nanoseconds longest{0};
  /// Sleeps between two attempts.
  std::function<void(nanoseconds)> sleep = [](nanoseconds time) {
    std::this_thread::sleep_for(time);
  };
};

/// Owns `path`, by flock(2) on a file `path`-lock next to it, which names the owner's process and
/// the time since which it owns the file. The kernel releases the lock when the process ends,
/// however it ends: a lock file that is left behind is harmless, and the next owner rewrites it.
/// This also excludes a second owner inside one process, and one that opens the file through a
/// symbolic link. Move-only.
class WEIR_API FileLock {
 public:
  /// Takes the ownership. Returns kUnavailable, naming the owner, if another owner still has it
  /// after the wait. Waiting processes retry after some milliseconds each, so they are not served
  /// in order. Returns kPermissionDenied, kNotFound (no such folder) or kResourceExhausted if the
  /// lock file cannot be written.
  [[nodiscard]] static Result<FileLock> Take(const std::string& path, UnixMillis now,
                                             const LockWait& wait = {});

  /// Excludes owners that open the file, which must exist, through another hard link; does nothing
  /// on a file system without open file description locks. Returns kUnavailable if there is such an
  /// owner after the wait. POSIX releases the locks of a process on a file whenever the process
  /// closes any of its descriptors of the file, and destroying this lock closes one: at that time,
  /// no other part of the process may have the file open in SQLite.
  [[nodiscard]] Status GuardInode(const std::string& path, const LockWait& wait = {});

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  /// Releases the ownership and removes the lock file.
  ~FileLock();

 private:
  FileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  static Result<FileLock> TryToTake(const std::string& path, UnixMillis now);
  Status TryToGuard(const std::string& path) const;

  std::string path_;
  int descriptor_;
  int inode_ = -1;  // descriptor of the file itself; -1: not guarded
};

}  // namespace weir
