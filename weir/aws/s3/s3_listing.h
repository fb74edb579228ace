// The response of ListObjectsV2. (Amazon S3 API Reference, version 2006-03-01.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir {

struct S3Entry {
  std::string key;
  std::uint64_t size = 0;  ///< bytes

  friend bool operator==(const S3Entry&, const S3Entry&) = default;
};

/// One page of a listing.
struct S3Listing {
  std::vector<S3Entry> objects;       ///< in the order of their keys
  std::vector<std::string> prefixes;  ///< common prefixes up to the delimiter
  std::string next;                   ///< the token of the next page; empty: this is the last one
};

/// Parses a response to a request with encoding-type=url. Fails with kUnknown, with the reason, if
/// the response is malformed, if it is not URL-encoded, or if it has a next page without a token.
[[nodiscard]] Result<S3Listing> ReadS3Listing(std::string_view body);

}  // namespace weir
