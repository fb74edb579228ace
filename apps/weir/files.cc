#include "apps/weir/files.h"

#include <fmt/format.h>

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

}  // namespace

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

Status WriteFile(const std::string& path, std::string_view text) {
  const std::string beside = path + ".new";
  errno = 0;
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) return Fail(FileError("write", beside, errno));
  file.close();
  std::error_code problem;
  std::filesystem::rename(beside, path, problem);
  if (problem) return Fail(FileError("write", path, problem.value()));
  return {};
}

}  // namespace weir::app
