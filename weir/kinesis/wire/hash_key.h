// The hash keys that the shards of a stream divide.
#pragma once

#include <absl/numeric/int128.h>

#include <limits>
#include <string>
#include <string_view>

#include "weir/base/api.h"
#include "weir/base/result.h"

namespace weir::kinesis {

/// A hash key: 0 to 2^128 - 1.
using HashKey = absl::uint128;

/// The range of one shard, both ends included.
struct WEIR_API HashRange {
  HashKey first = 0;
  HashKey last = std::numeric_limits<HashKey>::max();

  bool Contains(HashKey key) const { return first <= key && key <= last; }
  friend bool operator==(const HashRange&, const HashRange&) = default;
};

/// Returns the hash that the service uses for a record without an explicit hash key: the MD5 of the
/// bytes of its partition key, big-endian.
WEIR_API HashKey HashOfPartitionKey(std::string_view partition_key);

/// Parses an explicit hash key: decimal digits and nothing else, leading zeros allowed.
/// kInvalidArgument: another form, or a number beyond 2^128 - 1.
[[nodiscard]] WEIR_API Result<HashKey> ParseHashKey(std::string_view decimal);
/// Formats the key as the service expects it: decimal, without leading zeros.
WEIR_API std::string FormatHashKey(HashKey key);

}  // namespace weir::kinesis
