// The writes of zae-limiter 0.17.0's client and aggregator on a bucket's item, for limits that drip
// (without schedules, quotas, soft limits, bypass, and disabled items).
//
// Source: zae-limiter 0.17.0, the wheel: conditions and updates as its own calls send them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/dynamodb/table.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/testing/zae_meter_fixture.h"

namespace weir::dynamo {

/// The parameters of a write.
struct ZaePass {
  const Keys& keys;
  UnixMillis now;
  std::int64_t write_capacity = 0;  ///< `wcu` of an item that is created, in millitokens
};

/// Takes from stored balances, without a read. Limits with an amount of 0 are not named.
Write ZaeSpeculative(const ZaePass& pass, const Charge& charge);
/// Takes from the balance, refilled to `now`; nothing if that does not pay. Limits that the item
/// lacks are seeded.
std::optional<Write> ZaeNormal(const ZaePass& pass, const Charge& charge, const Item& item);
/// Creates a full item of a bucket with `shards`; to be sent in one transaction with the check of
/// its owner, which has no record.
Write ZaeCreate(const ZaePass& pass, const Charge& charge, std::int64_t shards);
Write ZaeOwnerCheck(const ZaePass& pass, const BucketKey& key);
/// Takes after a pass that lost to another one.
Write ZaeRetry(const ZaePass& pass, const Charge& charge);
/// Adjusts. `seen`: the item as the charge left it; nothing for the second try.
Write ZaeAdjust(const ZaePass& pass, const Charge& delta, const std::optional<Item>& seen);

/// Doubles the number of shards, on shard 0.
Write ZaeBump(const ZaePass& pass, const BucketKey& key, std::int64_t shards);
/// Stores the parameters of `target`, and removes the limits in `removed`, on one shard.
Write ZaeSync(const ZaePass& pass, const Target& target, std::uint32_t shard,
              const std::vector<std::string>& removed);

}  // namespace weir::dynamo
