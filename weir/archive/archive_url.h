// The URL of an archive of audit events.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

struct ArchiveUrl {
  std::string bucket;
  std::string prefix;  ///< the prefix of all keys: empty, or ends in '/'
  std::optional<std::string> region{};
  std::optional<std::string> endpoint{};

  friend bool operator==(const ArchiveUrl&, const ArchiveUrl&) = default;
};

/// Parses `s3://BUCKET[/PREFIX][?region=REGION&endpoint=URL]`. Fails with kInvalidArgument for any
/// other text, for a bucket that CheckS3Bucket refuses, and as dynamo::ReadServiceUrl.
[[nodiscard]] Result<ArchiveUrl> ParseArchiveUrl(std::string_view url);

}  // namespace weir
