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
[[nodiscard]] Result<std::string> ReadFileOrInput(const std::string& path, const World& world);

/// kAlreadyExists, with the remedy, if something has the name.
[[nodiscard]] Status CheckNew(const std::string& path);

/// The calls that say whether what was written is on the disk. Tests let them fail.
struct DiskCalls {
  int (*sync)(int descriptor);
  int (*close)(int descriptor);
};
extern const DiskCalls kSystemDisk;

/// The file is there with all of `text`, or as it was before: also after a power loss.
[[nodiscard]] Status WriteFile(const std::string& path, std::string_view text,
                               const DiskCalls& disk = kSystemDisk);

/// What a rename in this folder did survives a power loss.
[[nodiscard]] Status SyncFolderOf(const std::string& path);

}  // namespace weir::app
