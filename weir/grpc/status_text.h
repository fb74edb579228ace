// The header `grpc-message`.
#pragma once

#include <string>
#include <string_view>

namespace weir::grpc {

/// Returns the message with bytes outside of printable ASCII, and `%`, as `%XX` (gRPC over HTTP/2,
/// section Responses), cut to 1,024 bytes.
std::string EscapeStatusMessage(std::string_view message);

}  // namespace weir::grpc
