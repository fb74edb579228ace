// Items of a bucket's shards, as any client leaves them.
#pragma once

#include <string>

#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

inline constexpr UnixMillis kShardStart{1'767'225'600'000};
inline const Keys kShardKeys("ns");
/// 100 tokens, of which 10 come back each second.
inline const Limit kRpm{"rpm", {100'000, 10'000, 1'000}};

/// Returns the item of this shard of a bucket with limit kRpm.
inline Item ShardItemOf(const BucketKey& key, std::uint32_t shards, std::int64_t tokens) {
  Item item = kShardKeys.BucketIndexes(key);
  const auto limit = [&](const std::string& name, const Quota& quota, std::int64_t left) {
    item["b_" + name + "_tk"] = Of(left);
    item["b_" + name + "_cp"] = Of(quota.capacity);
    item["b_" + name + "_ra"] = Of(quota.amount);
    item["b_" + name + "_rp"] = Of(quota.period);
    item["b_" + name + "_tc"] = Of(0);
  };
  limit(kRpm.name, kRpm.quota, tokens);
  limit("wcu", WriteQuota(), 1'000'000);
  item["rf"] = Of(kShardStart.value);
  item["shard_count"] = Of(std::int64_t{shards});
  item["cascade"] = Of(false);
  item["entity_id"] = Of(key.entity);
  item["resource"] = Of(key.resource);
  return item;
}

/// Returns the item of a shard of the bucket acme/llm.
inline Item ShardItem(std::uint32_t shard, std::uint32_t shards, std::int64_t tokens) {
  return ShardItemOf({"acme", "llm", shard}, shards, tokens);
}

}  // namespace weir::dynamo
