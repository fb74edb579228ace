// The writes of zae-limiter 0.17.0's client and aggregator on a bucket's item, for limits that drip
// (no schedules, quotas, soft limits, bypass, nothing disabled).
//
// Source: zae-limiter 0.17.0, the wheel: conditions and updates as its own calls send them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/dynamo/zae_meter_fixture.h"

namespace weir::dynamo {

/// What one slow pass is planned from.
struct ZaePass {
  const Keys& keys;
  UnixMillis now;
  std::int64_t write_capacity = 0;  ///< of a new item's `wcu`, millitokens
};

/// By stored balances, without a read. Limits with an amount of 0 are not declared.
Write ZaeSpeculative(const ZaePass& pass, const Charge& charge);
/// Nothing if the balance, refilled to `now`, does not pay. Limits that the item lacks are seeded.
std::optional<Write> ZaeNormal(const ZaePass& pass, const Charge& charge, const Item& item);
/// A full item of a bucket with `shards`, in one transaction with the check of its owner, which has
/// no record.
Write ZaeCreate(const ZaePass& pass, const Charge& charge, std::int64_t shards);
Write ZaeOwnerCheck(const ZaePass& pass, const BucketKey& key);
/// After a pass that lost to another one.
Write ZaeRetry(const ZaePass& pass, const Charge& charge);
/// An adjust. `seen`: the item as the charge left it; nothing: as the second try.
Write ZaeAdjust(const ZaePass& pass, const Charge& delta, const std::optional<Item>& seen);

/// Doubles the shards, on shard 0.
Write ZaeBump(const ZaePass& pass, const BucketKey& key, std::int64_t shards);
/// The parameters of `target`, and the limits in `removed` leave, on one shard.
Write ZaeSync(const ZaePass& pass, const Target& target, std::uint32_t shard,
              const std::vector<std::string>& removed);

}  // namespace weir::dynamo
