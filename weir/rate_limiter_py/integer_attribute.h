// Numbers in rate-limiter-py's rows, which any client may have written.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamodb/value.h"

namespace weir::rate_limiter_py {

struct WholeRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// Returns the number in an attribute; nothing if the attribute is absent. Returns
/// kFailedPrecondition, with `row`, the attribute, its contents and the valid ones, for a text, a
/// fraction, or a number outside the range.
[[nodiscard]] Result<std::optional<std::int64_t>> ReadWhole(const dynamo::Item& item,
                                                            std::string_view attribute,
                                                            std::string_view row,
                                                            const WholeRange& range = {});

/// Returns the error for an invalid attribute of the row, with the contents of the attribute and
/// with `expected`, which describes the valid contents.
[[nodiscard]] Error UnusableAttribute(const dynamo::Item& item, std::string_view attribute,
                                      std::string_view row, std::string_view expected);

}  // namespace weir::rate_limiter_py
