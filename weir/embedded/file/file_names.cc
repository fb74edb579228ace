#include "weir/embedded/file/file_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "weir/embedded/file/errno_code.h"

namespace weir {
namespace {

Status SyncPath(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) return FileFailure("sync", path, errno);
  // Some file systems cannot sync folders, and return EINVAL.
  const int failure = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  close(descriptor);
  return failure == 0 ? Status() : Status(FileFailure("sync", path, failure));
}

}  // namespace

tl::unexpected<Error> FileFailure(std::string_view verb, const std::string& path, int number) {
  const Code code = number == EEXIST ? Code::kAlreadyExists : CodeOfErrno(number);
  return Fail(code, fmt::format("cannot {} {}: {}", verb, path, std::strerror(number)));
}

bool IsTaken(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

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
  return FileFailure("create", to, errno);
}

Status RenameFile(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return FileFailure("replace", to, errno);
}

void RemoveFile(const std::string& path) { unlink(path.c_str()); }

void RemoveDatabase(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) RemoveFile(path + suffix);
}

Status RenameToFree(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return FileFailure("create", to, errno);
  // This file system does not support RENAME_NOREPLACE.
  WEIR_RETURN_IF_ERROR(LinkFile(from, to));
  RemoveFile(from);
  return {};
}

}  // namespace weir
