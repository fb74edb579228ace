// The error of a service that answers in XML, as all do that do not speak JSON, and as some servers
// do that stand for AWS.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct XmlError {
  std::string code;
  std::string message;
};

/// `Code` and `Message` of the first `Error` in an `ErrorResponse`, in a `Response` (there within
/// `Errors`), or of an `Error` that is the whole answer (S3's). References to characters come as
/// they are meant, by number as '?'. Nothing where `body` is not one well-formed element of at most
/// 16 KiB, eight deep, made of elements, attributes and text alone, or has no such error.
std::optional<XmlError> ReadXmlError(std::string_view body);

}  // namespace weir
