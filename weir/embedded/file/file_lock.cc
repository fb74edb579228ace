#include "weir/embedded/file/file_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "weir/embedded/file/errno_code.h"

namespace weir {
namespace {

// The number of attempts. An attempt fails if the lock file is removed between opening and locking
// it, because its owner closes at that moment.
constexpr int kTries = 100;

constexpr nanoseconds kFirstPause = std::chrono::milliseconds(1);
constexpr nanoseconds kLongestPause = std::chrono::milliseconds(20);

// The byte of the file itself that the guard locks: far beyond the bytes that SQLite locks or
// writes.
constexpr off_t kGuardByte = off_t{1} << 61;

tl::unexpected<Error> SystemError(const std::string& path, std::string_view doing,
                                  std::string_view suffix = "-lock") {
  const int error = errno;
  return Fail(CodeOfErrno(error), fmt::format("sqlite:{}: cannot {} {}{}: {}", path, doing, path,
                                              suffix, std::strerror(error)));
}

std::string ReadAll(int descriptor) {
  std::array<char, 256> text;
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  return size <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

// The lock file's text is "process 1234 since 2026-01-01T00:00:00Z", which becomes a part of the
// message.
tl::unexpected<Error> InUse(const std::string& path, int descriptor) {
  std::string owner = ReadAll(descriptor);
  owner.resize(std::min(owner.size(), owner.find('\n')));
  if (owner.empty()) owner = "another process";
  return Fail(Code::kUnavailable,
              fmt::format("sqlite:{}: in use by {}; stop it or use another file", path, owner));
}

// Returns false if the opened file is no longer the file at `path`.
bool IsCurrent(const std::string& path, int descriptor) {
  struct stat opened;
  struct stat named;
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// Returns the path without symbolic links, so that all names of a file have the same lock.
std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error || real.empty() ? path : real.string();
}

// Returns a pause that doubles up to a bound, plus some milliseconds that differ between processes.
nanoseconds NextPause(nanoseconds last) {
  const nanoseconds longer = std::min<nanoseconds>(2 * last, kLongestPause);
  return longer + milliseconds(getpid() % 5);
}

// Returns the result of `attempt`, which is repeated while another process is the owner.
template <class Attempt>
auto WhenFree(const LockWait& wait, const Attempt& attempt) {
  nanoseconds waited{0};
  nanoseconds pause = kFirstPause;
  for (;;) {
    auto result = attempt();
    const bool is_owned = !result && result.error().code == Code::kUnavailable;
    if (!is_owned || waited >= wait.longest) return result;
    wait.sleep(std::min(pause, wait.longest - waited));
    waited += pause;
    pause = NextPause(pause);
  }
}

bool WriteOwner(int descriptor, UnixMillis now) {
  const std::string text = fmt::format("process {} since {:%FT%TZ}\n", getpid(),
                                       fmt::gmtime(static_cast<std::time_t>(now.value / 1000)));
  return ftruncate(descriptor, 0) == 0 &&
         pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

Result<FileLock> FileLock::Take(const std::string& path, UnixMillis now, const LockWait& wait) {
  return WhenFree(wait, [&] { return TryToTake(path, now); });
}

Result<FileLock> FileLock::TryToTake(const std::string& path, UnixMillis now) {
  const std::string lock_path = RealPath(path) + "-lock";
  for (int i = 0; i < kTries; ++i) {
    const int descriptor = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) return SystemError(path, "open");
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      auto error = errno == EWOULDBLOCK ? InUse(path, descriptor) : SystemError(path, "lock");
      close(descriptor);
      return error;
    }
    if (!IsCurrent(lock_path, descriptor)) {
      close(descriptor);
      continue;
    }
    FileLock lock(lock_path, descriptor);
    if (!WriteOwner(descriptor, now)) return SystemError(path, "write");
    return lock;
  }
  return Fail(
      Code::kUnavailable,
      fmt::format("sqlite:{}: {} was removed during each of {} attempts to lock it; try again",
                  path, lock_path, kTries));
}

// Waits too, because the kernel may release a killed owner's lock file a moment before its guard.
Status FileLock::GuardInode(const std::string& path, const LockWait& wait) {
  inode_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (inode_ < 0) return SystemError(path, "open", "");
  return WhenFree(wait, [&] { return TryToGuard(path); });
}

Status FileLock::TryToGuard(const std::string& path) const {
  struct flock guard = {};
  guard.l_type = F_WRLCK;
  guard.l_whence = SEEK_SET;
  guard.l_start = kGuardByte;
  guard.l_len = 1;
  if (fcntl(inode_, F_OFD_SETLK, &guard) == 0) return {};
  if (errno != EAGAIN && errno != EACCES) return {};  // this file system has no such locks
  return Fail(Code::kUnavailable,
              fmt::format("sqlite:{}: in use by another process, under another name of the file; "
                          "stop it or use another file",
                          path));
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      inode_(std::exchange(other.inode_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(inode_, other.inode_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  // The guard is released first: the next owner may take the lock as soon as the lock file is
  // removed.
  if (inode_ >= 0) close(inode_);
  // The lock file is removed while it is locked. A process that opened it before gets a lock on a
  // removed file, notices that by IsCurrent, and tries again. If a person has deleted the lock
  // file, the one at the path is another owner's.
  if (IsCurrent(path_, descriptor_)) unlink(path_.c_str());
  close(descriptor_);
}

}  // namespace weir
