// The file that keeps the lines that failed.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/base/result.h"

namespace weir::app {

/// Changes nothing in an existing file until there is a line for it. Not thread-safe.
class FailedLines {
 public:
  struct Options {
    bool replace = false;        ///< lines of an earlier run may go
    std::optional<int> input{};  ///< the descriptor that the lines come from
  };
  /// Opens the file, or creates it. kInvalidArgument: it is the input itself. kAlreadyExists: it
  /// has lines, which are not to be replaced. kUnavailable: it cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<FailedLines>> Open(const std::string& path,
                                                                 const Options& options);

  /// For lines of this run: from the first call on those of earlier runs are gone.
  std::ostream& stream();

 private:
  FailedLines(std::string path, std::ofstream file)
      : path_(std::move(path)), file_(std::move(file)) {}

  const std::string path_;
  std::ofstream file_;
  bool used_ = false;
};

}  // namespace weir::app
