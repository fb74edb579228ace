// A recorded series of requests to a language model.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::app {

struct TraceRow {
  UnixMillis at;  ///< its digits beyond milliseconds are dropped
  std::int64_t context_tokens = 0;
  std::int64_t generated_tokens = 0;

  friend bool operator==(const TraceRow&, const TraceRow&) = default;
};

/// Takes the next line off the front of `text`, without its end.
std::string_view NextTraceLine(std::string_view& text);

/// Reads `TIMESTAMP,ContextTokens,GeneratedTokens` and rows like
/// `2023-11-16 18:15:46.6805900,374,44`, in order of time, ended by LF or CRLF.
/// A time is as ParseTime reads it. kInvalidArgument
/// `file_name:line: what; what would be right`; a field is named.
[[nodiscard]] Result<std::vector<TraceRow>> ParseTrace(std::string_view text,
                                                       std::string_view file_name);

}  // namespace weir::app
