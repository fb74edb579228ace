// Identifies a bucket.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/api.h"
#include "weir/base/result.h"

namespace weir {

/// Identifies one bucket: the state of all limits of one entity on one resource.
struct BucketKey {
  std::string entity;
  std::string resource;
  std::uint32_t shard = 0;

  friend auto operator<=>(const BucketKey&, const BucketKey&) = default;
};

/// The longest entity, resource and limit name of a bucket, in bytes.
inline constexpr std::size_t kLongestBucketText = 256;
/// Returns kInvalidArgument, with `what`, unless `text` is valid as in weir/model/stored_text.h, is
/// at most kLongestBucketText bytes long and contains no '#', which separates names in keys and
/// cursors. `text` may be empty.
[[nodiscard]] WEIR_API Status CheckBucketText(std::string_view what, std::string_view text);

/// Returns HashNames of the key (weir/bucket/key_hash.h): other processes return other hashes.
WEIR_API std::size_t HashOf(const BucketKey& key);

/// For hash tables.
struct WEIR_API BucketKeyHash {
  std::size_t operator()(const BucketKey& key) const { return HashOf(key); }
};

}  // namespace weir
