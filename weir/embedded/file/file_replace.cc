#include "weir/embedded/file/file_replace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "weir/embedded/file/file_names.h"

namespace weir {
namespace {

// The bytes that SQLite locks (sqlite.org/fileformat2.html, section 1.2).
constexpr off_t kPendingByte = 0x40000000;
constexpr off_t kLockBytes = 512;

// Returns the name that a repaired database has until it replaces the database at `path`.
std::string RepairedPath(const std::string& path) { return path + "-repaired"; }

// Gives the database and its write-ahead log second names.
Status LinkOldFiles(const std::string& path, const std::string& kept_as) {
  WEIR_RETURN_IF_ERROR(LinkFile(path, kept_as));
  const Status log_linked = LinkFile(path + "-wal", kept_as + "-wal");
  return !log_linked && log_linked.error().code != Code::kNotFound ? log_linked : Status();
}

}  // namespace

Result<SqliteLocks> SqliteLocks::Take(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return FileFailure("open", path, errno);
  SqliteLocks locks(descriptor);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kPendingByte;
  lock.l_len = kLockBytes;
  if (fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return locks;
  if (errno != EAGAIN && errno != EACCES) return FileFailure("lock", path, errno);
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
  Status done = LinkOldFiles(path, kept_as);
  if (done) done = SyncFile(with);
  // The second names of the old database are on disk before the new one can replace it.
  if (done) done = SyncFolder(path);
  if (done) done = RenameFile(with, RepairedPath(path));
  if (done) return FinishReplacing(path);
  for (const char* suffix : {"", "-wal"}) RemoveFile(kept_as + suffix);
  return done;
}

// Removes the old log before the rename: otherwise SQLite would use the old log with the new file.
Status FinishReplacing(const std::string& path) {
  const std::string repaired = RepairedPath(path);
  if (!IsTaken(repaired)) return {};
  WEIR_RETURN_IF_ERROR(SyncFolder(path));
  for (const char* suffix : {"-wal", "-shm", "-journal"}) RemoveFile(path + suffix);
  WEIR_RETURN_IF_ERROR(RenameFile(repaired, path));
  return SyncFolder(path);
}

Status CheckReplaced(const std::string& path) {
  if (!IsTaken(RepairedPath(path))) return {};
  return Fail(Code::kUnavailable,
              fmt::format("sqlite:{}: a repair has not ended; wait for it, or run 'weir store "
                          "repair' again to finish it",
                          path));
}

}  // namespace weir
