// Whole files.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::app {

/// kNotFound or kUnavailable, naming the file and the cause.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path);

/// The file is there with all of `text`, or as it was before.
[[nodiscard]] Status WriteFile(const std::string& path, std::string_view text);

}  // namespace weir::app
