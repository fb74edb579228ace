// The texts of a status in headers.
#pragma once

#include <string>
#include <string_view>

namespace weir::grpc {

/// Returns the message with bytes outside of printable ASCII, and `%`, as `%XX` (gRPC over HTTP/2,
/// section Responses), cut to 1,024 bytes.
std::string EscapeStatusMessage(std::string_view message);

/// Returns the value of a header whose name ends in `-bin`: base64 without padding (gRPC over
/// HTTP/2, section Custom-Metadata).
std::string EncodeBinaryHeader(std::string_view bytes);

}  // namespace weir::grpc
