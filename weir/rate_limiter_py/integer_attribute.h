// Numbers of rate-limiter-py's rows, as anybody may have written them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamo/value.h"

namespace weir::rate_limiter_py {

struct WholeRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// The number of an attribute; nothing where it is absent. kFailedPrecondition, naming `row`, the
/// attribute, what it holds and what would be right, for a text, a fraction, or a number outside
/// the range.
[[nodiscard]] Result<std::optional<std::int64_t>> ReadWhole(const dynamo::Item& item,
                                                            std::string_view attribute,
                                                            std::string_view row,
                                                            const WholeRange& range = {});

/// That attribute of that row cannot be used: what it holds, and what would be right.
[[nodiscard]] Error Unusable(const dynamo::Item& item, std::string_view attribute,
                             std::string_view row, std::string_view right);

}  // namespace weir::rate_limiter_py
