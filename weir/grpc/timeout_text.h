// The header `grpc-timeout`.
#pragma once

#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::grpc {

/// Parses one to eight digits and a unit H, M, S, m, u or n (gRPC over HTTP/2, section Requests).
/// Returns kInvalidArgument for other texts. Times beyond a year are a year.
[[nodiscard]] Result<nanoseconds> ParseTimeout(std::string_view text);

}  // namespace weir::grpc
