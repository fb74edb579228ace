#include "weir/kinesis/shards/shard_ranges.h"

#include <fmt/format.h>

#include "weir/base/integer_text.h"

namespace weir::kinesis {
namespace {

constexpr std::string_view kPrefix = "shardId-";

}  // namespace

Result<ShardId> ParseShardId(std::string_view name) {
  if (name.starts_with(kPrefix)) {
    const auto number = ReadInteger<std::uint64_t>(name.substr(kPrefix.size()));
    if (number) return ShardId{*number};
  }
  return Fail(
      Code::kInvalidArgument,
      fmt::format("shard '{}': expected a name like shardId-000000000012", name.substr(0, 128)));
}

std::string FormatShardId(ShardId id) { return fmt::format("{}{:012}", kPrefix, id.number); }

std::optional<ShardId> ShardRanges::ShardOf(HashKey key) const {
  const auto piece = pieces_.lower_bound(key);
  if (piece == pieces_.end() || key < piece->second.first) return std::nullopt;
  return piece->second.id;
}

bool ShardRanges::CoverAllKeys() const {
  HashKey next = 0;
  for (const auto& [last, piece] : pieces_) {
    if (piece.first != next) return false;
    next = last + 1;  // 0 after the greatest key
  }
  return !pieces_.empty() && next == 0;
}

void ShardRanges::PutUncovered(const Shard& shard) {
  // Fills the gaps between the pieces that overlap the range.
  HashKey first = shard.range.first;
  auto next = pieces_.lower_bound(first);
  while (next != pieces_.end() && next->second.first <= shard.range.last) {
    if (first < next->second.first) {
      pieces_.emplace_hint(next, next->second.first - 1, Piece{first, shard.id});
    }
    if (next->first >= shard.range.last) return;
    first = next->first + 1;
    ++next;
  }
  pieces_.emplace_hint(next, shard.range.last, Piece{first, shard.id});
}

}  // namespace weir::kinesis
