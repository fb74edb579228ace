// The space that the shards of a stream divide.
#pragma once

#include <absl/numeric/int128.h>

#include <limits>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::kinesis {

/// A point in it: 0 to 2^128 - 1.
using HashKey = absl::uint128;

/// What one shard holds, both ends included.
struct HashRange {
  HashKey first = 0;
  HashKey last = std::numeric_limits<HashKey>::max();

  bool Contains(HashKey key) const { return first <= key && key <= last; }
  friend bool operator==(const HashRange&, const HashRange&) = default;
};

/// Where the service puts a record that brings no hash key of its own: the MD5 of the partition
/// key's bytes, big-endian.
HashKey HashOfPartitionKey(std::string_view partition_key);

/// Reads an explicit hash key: decimal digits and nothing else, leading zeros allowed.
/// kInvalidArgument where it is none, or beyond 2^128 - 1.
[[nodiscard]] Result<HashKey> ParseHashKey(std::string_view decimal);
/// As the service wants it: decimal, without leading zeros.
std::string FormatHashKey(HashKey key);

}  // namespace weir::kinesis
