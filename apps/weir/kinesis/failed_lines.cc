#include "apps/weir/kinesis/failed_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "apps/weir/files.h"

namespace weir::app {
namespace {

Status CheckFile(const std::string& path, const FailedLines::Options& options) {
  if (options.input && IsOpenAs(path, *options.input)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("--failed-to: {} is the file that is read; rename it first, or name "
                            "another file",
                            path));
  }
  std::error_code problem;
  const bool has_lines = std::filesystem::is_regular_file(path, problem) &&
                         std::filesystem::file_size(path, problem) > 0;
  if (!has_lines || options.replace) return {};
  return Fail(Code::kAlreadyExists, fmt::format("{} already has lines: name another file, or give "
                                                "--force to replace them when a line fails",
                                                path));
}

}  // namespace

Result<std::unique_ptr<FailedLines>> FailedLines::Open(const std::string& path,
                                                       const Options& options) {
  WEIR_RETURN_IF_ERROR(CheckFile(path, options));
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  if (!file.is_open()) {
    return Fail(Code::kUnavailable, fmt::format("cannot write {} for the lines that fail: {}", path,
                                                std::strerror(errno)));
  }
  return std::unique_ptr<FailedLines>(new FailedLines(path, std::move(file)));
}

std::ostream& FailedLines::stream() {
  std::error_code problem;
  // The file is opened for appending, so writes continue at the new end. Devices and pipes are not
  // truncated.
  if (!std::exchange(used_, true) && std::filesystem::is_regular_file(path_, problem)) {
    std::filesystem::resize_file(path_, 0, problem);
    if (problem) file_.setstate(std::ios::badbit);
  }
  return file_;
}

}  // namespace weir::app
