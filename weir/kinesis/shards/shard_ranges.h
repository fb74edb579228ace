// Shards, and the ranges of hash keys that they hold.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/kinesis/wire/hash_key.h"

namespace weir::kinesis {

/// The number in the name of a shard. The service gives children higher numbers than parents.
struct ShardId {
  std::uint64_t number = 0;

  friend auto operator<=>(ShardId, ShardId) = default;
};

/// Parses "shardId-000000000012". kInvalidArgument: another form.
[[nodiscard]] Result<ShardId> ParseShardId(std::string_view name);
/// Returns the name of the shard.
std::string FormatShardId(ShardId id);

struct Shard {
  ShardId id;
  HashRange range;
};

/// The hash keys of a stream by shard, as of one listing.
class ShardRanges {
 public:
  /// Assigns to the shard the keys of its range that no shard has yet.
  void PutUncovered(const Shard& shard);
  /// Returns the shard that holds the key; nothing if no shard does.
  std::optional<ShardId> ShardOf(HashKey key) const;
  /// Returns whether each hash key has a shard.
  bool CoverAllKeys() const;
  /// Returns the number of pieces: at least the number of shards that hold a key.
  std::size_t size() const { return pieces_.size(); }

 private:
  /// A range of keys of one shard; its last key is the key in the map.
  struct Piece {
    HashKey first;
    ShardId id;
  };

  std::map<HashKey, Piece> pieces_;  // keyed by their last key; they do not overlap
};

}  // namespace weir::kinesis
