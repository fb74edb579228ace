#include "weir/embedded/file_lock.h"

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
#include <string_view>
#include <utility>

#include "weir/embedded/system_code.h"

namespace weir {
namespace {

// How often the lock file may vanish between opening and locking it, each time because its owner
// closed just then.
constexpr int kTries = 100;

tl::unexpected<Error> SystemError(const std::string& path, std::string_view doing) {
  const int error = errno;
  return Fail(CodeOfErrno(error), fmt::format("sqlite:{}: cannot {} {}-lock: {}", path, doing, path,
                                              std::strerror(error)));
}

std::string ReadAll(int descriptor) {
  std::array<char, 256> text;
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  return size <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

// The text is "process 1234 since 2026-01-01T00:00:00Z", as the error message says it.
tl::unexpected<Error> InUse(const std::string& path, int descriptor) {
  std::string owner = ReadAll(descriptor);
  owner.resize(std::min(owner.size(), owner.find('\n')));
  if (owner.empty()) owner = "another process";
  return Fail(Code::kUnavailable,
              fmt::format("sqlite:{}: in use by {}; stop it or use another file", path, owner));
}

// False: the file that was opened is no longer the one at `path`.
bool IsCurrent(const std::string& path, int descriptor) {
  struct stat opened;
  struct stat named;
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

bool WriteOwner(int descriptor, UnixMillis now) {
  const std::string text = fmt::format("process {} since {:%FT%TZ}\n", getpid(),
                                       fmt::gmtime(static_cast<std::time_t>(now.value / 1000)));
  return ftruncate(descriptor, 0) == 0 &&
         pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

Result<FileLock> FileLock::Take(const std::string& path, UnixMillis now) {
  const std::string lock_path = path + "-lock";
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
  return Fail(Code::kUnavailable,
              fmt::format("sqlite:{}: {} comes and goes; try again", path, lock_path));
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  // Removed while it is held: whoever opened it before sees, once it has the lock, that it is gone.
  unlink(path_.c_str());
  close(descriptor_);
}

}  // namespace weir
