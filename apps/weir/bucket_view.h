// The limits of buckets at an instant, in the form that `weir buckets` and others print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weir/store/bucket/bucket_store.h"

namespace weir::app {

/// One limit of one bucket at an instant.
struct ShownMeter {
  std::string limit;
  Meter meter;                        ///< refilled to the instant; millitokens
  std::optional<UnixMillis> full_at;  ///< nothing: after the year 9999, or never
  bool configured = true;
};

/// Returns the limits of the bucket, the configured ones first. A bucket that was written after
/// `at` is returned as it was written.
std::vector<ShownMeter> MetersAt(const BucketRecord& record, UnixMillis at);

}  // namespace weir::app
