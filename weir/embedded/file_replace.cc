#include "weir/embedded/file_replace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "weir/embedded/system_code.h"

namespace weir {
namespace {

// Where SQLite's locks are (sqlite.org/fileformat2.html, section 1.2).
constexpr off_t kPendingByte = 0x40000000;
constexpr off_t kLockBytes = 512;

tl::unexpected<Error> FailedTo(std::string_view what, const std::string& path, int number) {
  const Code code = number == EEXIST ? Code::kAlreadyExists : CodeOfErrno(number);
  return Fail(code, fmt::format("cannot {} {}: {}", what, path, std::strerror(number)));
}

Status SyncPath(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) return FailedTo("sync", path, errno);
  // Some file systems sync no folders, and say so.
  const int failure = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  close(descriptor);
  return failure == 0 ? Status() : Status(FailedTo("sync", path, failure));
}

bool IsTaken(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

// What takes the place of a database has this name until the old one is out of the way.
std::string WaitingFor(const std::string& path) { return path + "-repaired"; }

Status KeepBoth(const std::string& path, const std::string& kept_as) {
  WEIR_RETURN_IF_ERROR(LinkFile(path, kept_as));
  const Status logged = LinkFile(path + "-wal", kept_as + "-wal");
  return !logged && logged.error().code != Code::kNotFound ? logged : Status();
}

}  // namespace

std::string FreeName(const std::string& stem) {
  for (int number = 1;; ++number) {
    std::string name = fmt::format("{}-{}", stem, number);
    if (!IsTaken(name) && !IsTaken(name + "-wal")) return name;
  }
}

Status SyncFile(const std::string& path) { return SyncPath(path, O_RDONLY); }

Status SyncFolder(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return SyncPath(parent.empty() ? "." : parent.string(), O_RDONLY | O_DIRECTORY);
}

Status LinkFile(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) == 0) return {};
  return FailedTo("create", to, errno);
}

Status RenameFile(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return FailedTo("replace", to, errno);
}

void RemoveFile(const std::string& path) { unlink(path.c_str()); }

Status RenameToFree(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return FailedTo("create", to, errno);
  // This file system renames onto nothing only by a second name.
  WEIR_RETURN_IF_ERROR(LinkFile(from, to));
  RemoveFile(from);
  return {};
}

Result<SqliteLocks> SqliteLocks::Take(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return FailedTo("open", path, errno);
  SqliteLocks locks(descriptor);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kPendingByte;
  lock.l_len = kLockBytes;
  if (fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return locks;
  if (errno != EAGAIN && errno != EACCES) return FailedTo("lock", path, errno);
  return Fail(Code::kUnavailable,
              fmt::format("sqlite:{}: a process has the file open; stop it first", path));
}

SqliteLocks::SqliteLocks(SqliteLocks&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

SqliteLocks::~SqliteLocks() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status ReplaceDatabase(const std::string& path, const std::string& with,
                       const std::string& kept_as) {
  Status done = KeepBoth(path, kept_as);
  if (done) done = SyncFile(with);
  // The names that keep the old one are on the disk before the new one can take its place.
  if (done) done = SyncFolder(path);
  if (done) done = RenameFile(with, WaitingFor(path));
  if (done) return FinishReplacing(path);
  for (const char* suffix : {"", "-wal"}) RemoveFile(kept_as + suffix);
  return done;
}

// The old log goes before the new file gets the name: SQLite would take it for the new file's.
Status FinishReplacing(const std::string& path) {
  const std::string waiting = WaitingFor(path);
  if (!IsTaken(waiting)) return {};
  WEIR_RETURN_IF_ERROR(SyncFolder(path));
  for (const char* suffix : {"-wal", "-shm", "-journal"}) RemoveFile(path + suffix);
  WEIR_RETURN_IF_ERROR(RenameFile(waiting, path));
  return SyncFolder(path);
}

Status CheckReplaced(const std::string& path) {
  if (!IsTaken(WaitingFor(path))) return {};
  return Fail(Code::kUnavailable,
              fmt::format("sqlite:{}: a repair has not ended; wait for it, or run 'weir store "
                          "repair' again to finish it",
                          path));
}

}  // namespace weir
