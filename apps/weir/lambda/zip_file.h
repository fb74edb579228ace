// A zip file of a few files.
#pragma once

#include <span>
#include <string>

#include "weir/base/result.h"

namespace weir::app {

struct PackageFile {
  std::string name;     ///< with '/' between folders
  std::string content;  ///< less than 4 GB
  bool is_executable = false;
};

/// Creates or replaces `path`, as WriteFile does. Equal files make equal bytes: all have the date
/// 1980-01-01, and the mode 0644 or 0755. Returns kUnavailable with the path, or
/// the errors of WriteFile.
[[nodiscard]] Status WriteZip(const std::string& path, std::span<const PackageFile> files);

}  // namespace weir::app
