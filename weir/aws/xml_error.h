// Errors of services that respond in XML: those that do not speak JSON, and some servers that
// emulate AWS.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct XmlError {
  std::string code;
  std::string message;
};

/// Returns `Code` and `Message` of the first `Error` in an `ErrorResponse`, in a `Response` (there
/// within `Errors`), or of an `Error` that is the whole response (S3's). Named character references
/// are decoded; numeric ones become '?'. Returns nothing unless `body` has such an error and is one
/// well-formed element of at most 16 KiB, nested at most eight deep, that consists only of
/// elements, attributes and text.
std::optional<XmlError> ReadXmlError(std::string_view body);

}  // namespace weir
