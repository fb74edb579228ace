// A recorded series of requests to a language model.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::app {

struct TraceRow {
  UnixMillis at;  ///< digits beyond milliseconds are dropped
  std::int64_t context_tokens = 0;
  std::int64_t generated_tokens = 0;

  friend bool operator==(const TraceRow&, const TraceRow&) = default;
};

/// Parses `TIMESTAMP,ContextTokens,GeneratedTokens` and rows such as `2023-11-16
/// 18:15:46.6805900,374,44`, in order of time, by SplitCsvLine. Times are read by ParseTime.
/// Returns kInvalidArgument `file_name:line: problem; remedy`, with the name of the field.
[[nodiscard]] Result<std::vector<TraceRow>> ParseTrace(std::string_view text,
                                                       std::string_view file_name);

}  // namespace weir::app
