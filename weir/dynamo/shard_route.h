// Which shards of its buckets a request is sent to, and what their answers say about the buckets.
//
// Callers name shard 0 and mean the bucket. One shard pays for all of a charge, where its part of
// the capacity is enough; else every shard pays a part of it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "weir/base/time.h"
#include "weir/store/charge.h"

namespace weir::dynamo {

/// In Charge::shard and Decision::shards: not one shard, but the first so many, each its part.
inline constexpr std::uint32_t kSpread = 0x8000'0000;

/// A request on shards. The vectors of parts have one entry for each part; the parts of one charge
/// stand together, in the order of the charges.
struct Route {
  std::vector<Charge> parts;
  std::vector<std::size_t> origins;  ///< which charge it is a part of
  /// Of its bucket, as far as is known; 0 where the caller named another shard than 0, which then
  /// is a bucket of its own.
  std::vector<std::uint32_t> shards;
  /// No charge is known to be refused.
  bool may_pay = true;

  bool IsDivided() const;
};

/// Draws a number below its argument.
using DrawBelow = std::function<std::size_t(std::size_t)>;

/// What a process knows of the shards of its buckets.
class ShardView {
 public:
  virtual ~ShardView() = default;
  /// Into how many shards the bucket of this key is divided, by the shard's image; 0: unknown.
  virtual std::uint32_t ShardsOf(const BucketKey& shard) const = 0;
  /// How long the charge must wait at this shard, of `shards`. 0 also if it is not known, or if the
  /// shard is not as it should be: then it is to be asked.
  virtual milliseconds WaitAt(const BucketKey& shard, const Charge& charge,
                              std::uint32_t shards) const = 0;
};

/// The same limits, in this shard of the bucket.
TargetPtr InShard(const Target& target, std::uint32_t shard);

/// To a random shard among those that can pay or are not known; where none can, to the one
/// that will be able to first.
Route RouteTake(std::span<const Charge> charges, const ShardView& view, const DrawBelow& draw);
/// To the shards that each charge names. Of the buckets `gone` none is there any more, so that a
/// new one gets it.
Route RouteAdjust(std::span<const Charge> charges, std::span<const BucketKey> gone);

/// The answer to the charges, from the answer to their parts. Each limit of a divided bucket has
/// the capacity of the whole bucket. `available` counts only the shards of the request, so it is a
/// lower bound; `of_shards` says of how much.
Decision Join(Decision of_parts, const Route& route, std::span<const Charge> charges);

}  // namespace weir::dynamo
