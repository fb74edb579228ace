// The ids that identify a request in the logs of several programs.
#pragma once

#include <string>
#include <string_view>

namespace weir::grpc {

/// Texts that are safe in a log. Each is empty if the request has no such id or a malformed one.
struct RequestIds {
  std::string request;  ///< `x-request-id`: 1 to 128 printable characters of ASCII, no space
  std::string trace;    ///< the trace id of `traceparent`: 32 hexadecimal digits

  /// Stores the id of the field if `name` is that of one of these two fields. Returns whether it
  /// is.
  bool Take(std::string_view name, std::string_view value);
};

/// Returns the trace id of a `traceparent` header (W3C Trace Context, section 3.2), or an empty
/// text if it is malformed. Later versions than 00 may have more fields.
std::string_view TraceIdOf(std::string_view traceparent);

}  // namespace weir::grpc
