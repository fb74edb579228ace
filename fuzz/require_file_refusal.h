// The refusal of a file with lines.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "fuzz/require.h"

namespace weir {

/// Requires that the error of `text`, the file `name`, begins with the name and a line of the file
/// and ends with a remedy.
inline void RequireFileRefusal(std::string_view text, std::string_view name, const Error& error) {
  RequireRefusal(error);
  std::string_view message = error.message;
  const std::string prefix = fmt::format("{}:", name);
  Require(message.starts_with(prefix), "a refusal names the file");
  message.remove_prefix(prefix.size());
  std::int64_t line = 0;
  const auto [end, fault] = std::from_chars(message.data(), message.data() + message.size(), line);
  Require(fault == std::errc() && end != message.data() + message.size() && *end == ':',
          "a refusal names the line");
  // An error at the end of the file is reported on the line after the last line break.
  Require(line >= 1 && line <= 1 + std::count(text.begin(), text.end(), '\n'),
          "the line is one of the file");
  Require(message.find("; expected ") != std::string_view::npos,
          "a refusal says what would be right");
}

}  // namespace weir
