#include "apps/weir/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace weir::app {
namespace {

Error FileError(std::string_view verb, const std::string& path, int number) {
  return {number == ENOENT ? Code::kNotFound : Code::kUnavailable,
          fmt::format("cannot {} {}: {}", verb, path, std::strerror(number))};
}

// 0, or the number of the error.
int WriteTo(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Status WriteAll(const std::string& path, std::string_view text, const DiskCalls& disk) {
  constexpr mode_t kMode = 0666;
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (descriptor < 0) return Fail(FileError("write", path, errno));
  int failure = WriteTo(descriptor, text);
  if (failure == 0 && disk.sync(descriptor) != 0) failure = errno;
  if (disk.close(descriptor) != 0 && failure == 0) failure = errno;
  return failure == 0 ? Status() : Fail(FileError("write", path, failure));
}

}  // namespace

const DiskCalls kSystemDisk = {.sync = fsync, .close = close};

Result<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(FileError("read", path, errno));
  std::ostringstream text;
  text << file.rdbuf();
  std::error_code problem;
  if (file.bad() || std::filesystem::is_directory(path, problem)) {
    return Fail(FileError("read", path, errno == 0 ? EISDIR : errno));
  }
  return std::move(text).str();
}

std::string NameOfInput(const std::string& path) {
  return path == kStandardStream ? "standard input" : path;
}

Result<std::string> ReadFileOrInput(const std::string& path, const World& world) {
  if (path != kStandardStream) return ReadFile(path);
  std::ostringstream text;
  text << world.in.rdbuf();
  if (world.interrupted()) {
    return Fail(Code::kCancelled, "interrupted before the end of standard input; nothing is done");
  }
  if (world.in.bad()) return Fail(Code::kUnavailable, "cannot read standard input");
  return std::move(text).str();
}

Status CheckNew(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, problem))) return {};
  return Fail(Code::kAlreadyExists,
              fmt::format("{} exists; --force overwrites it, or name another file", path));
}

Status WriteFile(const std::string& path, std::string_view text, const DiskCalls& disk) {
  const std::string beside = path + ".new";
  const Status written = WriteAll(beside, text, disk);
  if (written) {
    std::error_code problem;
    std::filesystem::rename(beside, path, problem);
    if (!problem) return SyncFolderOf(path);
    unlink(beside.c_str());
    return Fail(FileError("write", path, problem.value()));
  }
  unlink(beside.c_str());
  return written;
}

Status SyncFolderOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return Fail(FileError("sync", folder, errno));
  // Some file systems sync no folders, and say so.
  const int failure = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  close(descriptor);
  return failure == 0 ? Status() : Fail(FileError("sync", folder, failure));
}

}  // namespace weir::app
