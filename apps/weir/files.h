// Reads and writes whole files.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "apps/weir/command.h"
#include "weir/base/result.h"

namespace weir::app {

/// Reads a file. Returns kNotFound or kUnavailable, with the file and the cause.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path);

/// The name of standard input and output on a command line.
inline constexpr std::string_view kStandardStream = "-";

/// Returns the file's name for messages: "standard input" for `-`.
std::string NameOfInput(const std::string& path);

/// Like ReadFile, but `-` reads standard input to its end. Returns kCancelled if a signal arrives
/// before the end: the text is incomplete. Returns kInvalidArgument if standard input has more than
/// `most` bytes; a file is read whatever its size.
[[nodiscard]] Result<std::string> ReadFileOrInput(
    const std::string& path, const ProcessContext& process,
    std::size_t most = std::numeric_limits<std::size_t>::max());

/// Returns kAlreadyExists, with a remedy, if the file exists. Devices and pipes are accepted: they
/// are written and not replaced.
[[nodiscard]] Status CheckNew(const std::string& path);

/// Returns whether both paths, or the path and the descriptor, refer to one regular file.
bool IsSameFile(const std::string& path, const std::string& other);
bool IsOpenAs(const std::string& path, int descriptor);
/// Returns whether `path` is the regular file that ReadFileOrInput(input, process) reads.
bool IsInputFile(const std::string& path, const std::string& input, const ProcessContext& process);

/// The system calls that report whether written data are on the disk. Tests replace them.
struct DiskCalls {
  int (*sync)(int descriptor);
  int (*close)(int descriptor);
};
DiskCalls SystemDisk();

/// Replaces a regular file, or creates it, atomically: even after a power loss it has either all of
/// `text` or its former content. Its mode is kept, and a link remains a link. A device, a pipe, and
/// the file that is standard output are written in place.
[[nodiscard]] Status WriteFile(const std::string& path, std::string_view text,
                               const DiskCalls& disk = SystemDisk());

}  // namespace weir::app
