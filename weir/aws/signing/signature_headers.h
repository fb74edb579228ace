// The headers of a signature.
#pragma once

#include <string_view>

#include "weir/aws/http/http.h"

namespace weir::internal {

constexpr std::string_view kDateHeader = "x-amz-date";
constexpr std::string_view kTokenHeader = "x-amz-security-token";
constexpr std::string_view kAuthorizationHeader = "authorization";

/// Returns whether a header was added by an earlier signing; the next signing replaces it.
inline bool IsOfSigning(const HttpHeader& header) {
  return header.name == kDateHeader || header.name == kTokenHeader ||
         header.name == kAuthorizationHeader;
}

}  // namespace weir::internal
