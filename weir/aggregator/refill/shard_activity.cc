#include "weir/aggregator/refill/shard_activity.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <tuple>

#include "weir/zae_table/bucket/bucket_image.h"

namespace weir::dynamo {
namespace {

using ShardId = std::tuple<std::string_view, std::string_view, std::string_view, std::uint32_t>;

void AddConsumption(ShardActivity& shard, std::string_view limit, std::int64_t millitokens) {
  if (millitokens == 0) return;
  const auto found = std::ranges::find(shard.consumed, limit, &LimitDelta::limit);
  if (found == shard.consumed.end()) {
    shard.consumed.push_back({limit, millitokens});
  } else if (__builtin_add_overflow(found->millitokens, millitokens, &found->millitokens)) {
    found->millitokens = kMaxMillitokens;
  }
}

void AddChange(ShardActivity& shard, const BucketChange& change, const ChangeRecord& record) {
  if (shard.image == nullptr || shard.latest < change.sequence) {
    shard.latest = change.sequence;
    shard.image = &record.new_image;
  }
  const auto before = GetNumber(record.old_image, "shard_count");
  const auto after = GetNumber(record.new_image, "shard_count");
  if (before && after && *before < *after) shard.divided = true;
  if (change.is_fenced_write) return;
  for (const auto& [limit, millitokens] : change.deltas) AddConsumption(shard, limit, millitokens);
  AddConsumption(shard, kWriteLimit, change.write_units);
}

}  // namespace

std::vector<ShardActivity> SumActivity(std::span<const BucketChange> changes,
                                       std::span<const ChangeRecord> records) {
  std::vector<ShardActivity> shards;
  absl::flat_hash_map<ShardId, std::size_t> known;
  known.reserve(changes.size());
  for (const BucketChange& change : changes) {
    const BucketKey& key = change.bucket;
    const auto [at, is_new] = known.try_emplace(
        {change.namespace_id, key.entity, key.resource, key.shard}, shards.size());
    if (is_new) shards.push_back({.namespace_id = change.namespace_id, .bucket = &key});
    AddChange(shards[at->second], change, records[change.record]);
  }
  return shards;
}

}  // namespace weir::dynamo
