// Shards, and which of them holds a hash key.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/kinesis/hash_key.h"

namespace weir::kinesis {

/// The number in the name that the service gives a shard. Children have higher ones than parents.
struct ShardId {
  std::uint64_t number = 0;

  friend auto operator<=>(ShardId, ShardId) = default;
};

/// Reads "shardId-000000000012". kInvalidArgument where it is no such name.
[[nodiscard]] Result<ShardId> ParseShardId(std::string_view name);
std::string FormatShardId(ShardId id);

struct Shard {
  ShardId id;
  HashRange range;
};

/// The hash keys of a stream by shard, as one listing has them.
class ShardRanges {
 public:
  /// The shard gets the part of its range that no shard has yet.
  void PutUncovered(const Shard& shard);
  /// Nothing if no shard has the key.
  std::optional<ShardId> ShardOf(HashKey key) const;
  /// At least as many as there are shards that hold a key.
  std::size_t size() const { return pieces_.size(); }

 private:
  struct Piece {
    HashKey first;
    ShardId id;
  };

  std::map<HashKey, Piece> pieces_;  // by their last key; none overlap
};

}  // namespace weir::kinesis
