// Texts in the URLs of S3's requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::internal {

/// Returns the text with %XX for all bytes but letters, digits and `-._~`, and '/' if
/// `keeps_slash`. (Signature Version 4, UriEncode.)
std::string EncodeForS3(std::string_view text, bool keeps_slash);

/// Replaces each %XX by its byte. '+' becomes a space, as in listings with encoding-type=url.
/// Returns nothing if a % is not followed by two hexadecimal digits.
std::optional<std::string> DecodeFromS3(std::string_view text);

}  // namespace weir::internal
