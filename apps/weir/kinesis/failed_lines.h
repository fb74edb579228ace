// The file that stores lines that failed.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/base/result.h"

namespace weir::app {

/// Leaves an existing file unchanged until a line is stored. Not thread-safe.
class FailedLines {
 public:
  struct Options {
    bool replace = false;        ///< lines of an earlier run may be replaced
    std::optional<int> input{};  ///< the descriptor that the lines are read from
  };
  /// Opens the file, or creates it. Returns kInvalidArgument if it is the input itself,
  /// kAlreadyExists if it has lines that must not be replaced, kUnavailable if it cannot be
  /// written.
  [[nodiscard]] static Result<std::unique_ptr<FailedLines>> Open(const std::string& path,
                                                                 const Options& options);

  /// Returns the stream for lines of this run. The first call removes the lines of earlier runs.
  std::ostream& stream();

 private:
  FailedLines(std::string path, std::ofstream file)
      : path_(std::move(path)), file_(std::move(file)) {}

  const std::string path_;
  std::ofstream file_;
  bool used_ = false;
};

}  // namespace weir::app
