// Decides which shards of its buckets a request is sent to, and merges their results into the
// result of the request.
//
// Callers name shard 0 and mean the bucket. One shard pays all of a charge if its part of the
// capacity is enough; otherwise every shard pays a part of it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "weir/base/time.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/store/bucket/charge.h"

namespace weir::dynamo {

/// Flag in Charge::shard and Decision::shards. The other bits are a number N: each of the first N
/// shards pays its part.
inline constexpr std::uint32_t kSpread = 0x8000'0000;

/// The parts of a request, each on one shard. The vectors have one entry for each part; the parts
/// of one charge are adjacent, in the order of the charges.
struct Route {
  /// Of an adjust, Charge::shard is the shard that paid. The part counts once for this shard, also
  /// if the target is another one.
  std::vector<Charge> parts;
  std::vector<std::size_t> origins;  ///< index of the charge that the part belongs to
  /// The number of shards of the part's bucket, as far as it is known; 0 if the caller named
  /// another shard than 0, which then is a bucket of its own.
  std::vector<std::uint32_t> shards;
  /// False if some charge is known to be refused.
  bool may_pay = true;

  /// Returns true if a part is on a bucket of several shards.
  bool IsDivided() const;
};

/// Returns a random number below its argument.
using DrawBelow = std::function<std::size_t(std::size_t)>;

/// The shards of buckets, as far as a process knows them.
class ShardView {
 public:
  virtual ~ShardView() = default;
  /// Returns the number of shards of the bucket, from the image of `shard`; 0 if it is unknown.
  virtual std::uint32_t ShardsOf(const BucketKey& shard) const = 0;
  /// Returns how long the charge must wait at this shard, one of `shards`. Also returns 0 if the
  /// wait is unknown, or if the shard is not as it should be: then the request is to be sent to the
  /// shard.
  virtual milliseconds WaitAt(const BucketKey& shard, const Charge& charge,
                              std::uint32_t shards) const = 0;
  /// Returns true if an adjust with this id is pending at the shard.
  virtual bool HasAdjust(const BucketKey& shard, AdjustId adjust_id) const = 0;
};

/// The number of shards that a bucket has.
struct ShardCount {
  BucketKey bucket;  ///< shard 0
  std::uint32_t shards = 1;
};

/// Returns the identity of the part of an adjust on this shard, among all adjusts of this process.
AdjustId KeyOfAdjust(AdjustId adjust_id, const BucketKey& shard);
/// Returns the id under which the part of the shard `paid` is written in the shard `written`:
/// KeyOfAdjust(result, written) is KeyOfAdjust(adjust_id, paid), so the part counts once, in
/// whichever shard it is written, and is not taken for the part of `written`. From the result, the
/// function returns `adjust_id`.
AdjustId IdOfPart(AdjustId adjust_id, const BucketKey& paid, const BucketKey& written);

/// Returns a target with the same limits, in this shard of the bucket.
TargetPtr InShard(const Target& target, std::uint32_t shard);

/// Routes a charge to a random shard among those that can pay or are unknown; if none can, to the
/// one that can pay first. A charge that is too much for one shard is spread over all.
Route RouteTake(std::span<const Charge> charges, const ShardView& view, const DrawBelow& draw);
/// Routes adjusts to the shards that their charges name. A shard k that a bucket in `counts` does
/// not have any more (it was deleted, and perhaps created again, with S shards) is replaced by
/// shard k mod S. But a part that is pending from an earlier call with this id is routed to its
/// shard.
Route RouteAdjust(std::span<const Charge> charges, AdjustId adjust_id,
                  std::span<const ShardCount> counts, const ShardView& view);

/// Returns the decision on the charges, from the decision on their parts. Each limit of a divided
/// bucket has the capacity of the whole bucket. `available` counts only the shards of the request,
/// so it is a lower bound; `of_shards` is the number of equal parts of the bucket of which
/// `available` describes one.
Decision MergeDecision(Decision of_parts, const Route& route, std::span<const Charge> charges);

}  // namespace weir::dynamo
