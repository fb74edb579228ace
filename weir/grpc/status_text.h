// The texts of a status in headers.
#pragma once

#include <string>
#include <string_view>

namespace weir::grpc {

/// Returns the message as callers get it: UTF-8 of at most 512 bytes. A longer message is cut
/// between characters. In a message that is not UTF-8, each byte outside of ASCII becomes a
/// question mark.
std::string StatusMessage(std::string_view message);

/// Returns a message for the header `grpc-message`: bytes outside of printable ASCII, and `%`,
/// become `%XX` (gRPC over HTTP/2, section Responses).
std::string EscapeStatusMessage(std::string_view message);

/// Returns the value of a header whose name ends in `-bin`: base64 without padding (gRPC over
/// HTTP/2, section Custom-Metadata).
std::string EncodeBinaryHeader(std::string_view bytes);

}  // namespace weir::grpc
