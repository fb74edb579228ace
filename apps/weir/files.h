// Whole files.
#pragma once

#include <string>
#include <string_view>

#include "apps/weir/command.h"
#include "weir/base/result.h"

namespace weir::app {

/// kNotFound or kUnavailable, naming the file and the cause.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path);

/// The name of standard input and output on a command line.
inline constexpr std::string_view kStandardStream = "-";

/// How messages name the file: "standard input" for `-`.
std::string NameOfInput(const std::string& path);

/// As ReadFile; `-` reads standard input to its end. kCancelled: a signal came before the end, so
/// that the text is not all of it.
[[nodiscard]] Result<std::string> ReadFileOrInput(const std::string& path,
                                                  const ProcessContext& process);

/// kAlreadyExists, with the remedy, if there is such a file; a device or a pipe is written and not
/// replaced.
[[nodiscard]] Status CheckNew(const std::string& path);

/// The path leads to a regular file, by whatever name, and the other path or descriptor does too.
bool IsSameFile(const std::string& path, const std::string& other);
bool IsOpenAs(const std::string& path, int descriptor);

/// The system calls that report whether written data are on the disk. Tests let them fail.
struct DiskCalls {
  int (*sync)(int descriptor);
  int (*close)(int descriptor);
};
DiskCalls SystemDisk();

/// A regular file is there with all of `text`, and the mode that it had, or as it was before: also
/// after a power loss. A link stays a link. A device, a pipe, or the file that is standard output
/// is written as it is.
[[nodiscard]] Status WriteFile(const std::string& path, std::string_view text,
                               const DiskCalls& disk = SystemDisk());

}  // namespace weir::app
