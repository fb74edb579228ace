#include "weir/zae_table/sharding/shard_route.h"

#include <algorithm>
#include <utility>

#include "weir/zae_table/bucket/bucket_image.h"

namespace weir::dynamo {
namespace {

// A request looks at no more than this number of shards. No client creates more than 32.
constexpr std::uint32_t kMaxLookedAt = 64;

TargetPtr TargetIn(const Charge& charge, std::uint32_t shard) {
  return charge.target->key.shard == shard ? charge.target : InShard(*charge.target, shard);
}

Charge PartAt(const Charge& charge, std::uint32_t shard) {
  return {.target = TargetIn(charge, shard),
          .amounts = charge.amounts,
          .shard = shard,
          .resolved_at = charge.resolved_at};
}

/// The shards in which the parts of one adjust are written.
struct AdjustShards {
  AdjustId adjust_id;
  std::uint32_t count;  // of the bucket's shards; 0: all shards that paid are assumed to exist
  const ShardView& view;

  // A part that is pending from an earlier call with this id stays in its shard: the bucket may
  // have been divided again, or created again, since.
  std::uint32_t ShardFor(const BucketKey& paid) const {
    if (count > 0 && view.HasAdjust(paid, adjust_id)) return paid.shard;
    BucketKey written = paid;
    for (std::uint32_t shards = 1; shards <= std::min(paid.shard, kMaxShards); shards *= 2) {
      written.shard = paid.shard % shards;
      if (view.HasAdjust(written, IdOfPart(adjust_id, paid, written))) return written.shard;
    }
    return count == 0 ? paid.shard : paid.shard % count;
  }
};

/// Adds the parts of one charge to a route.
class Router {
 public:
  Router(const Charge& charge, std::size_t origin, Route& route)
      : charge_(charge), origin_(origin), route_(route) {}

  // Adds one part if one shard can pay the charge, else one part for each shard.
  void Take(const ShardView& view, const DrawBelow& draw) {
    if (charge_.target->key.shard != 0) return Put(charge_, 0);
    const std::uint32_t shards = CountShards(view);
    if (shards == 1) return Put(charge_, 1);
    if (!IsTooMuchForOne(shards)) return TakeFromOne(shards, view, draw);
    for (std::uint32_t shard = 0; shard < shards; ++shard) Put(ShareAt(shard, shards), shards);
    for (std::size_t i = route_.parts.size() - shards; i < route_.parts.size(); ++i) {
      const Charge& part = route_.parts[i];
      if (view.WaitAt(part.target->key, part, shards) > milliseconds(0)) route_.may_pay = false;
    }
  }

  // Adds the parts of the shards that paid: one, or the first N of a spread charge.
  void Adjust(const AdjustShards& shards) {
    const BucketKey& key = charge_.target->key;
    if (key.shard != 0) return Put(PartAt(charge_, key.shard), 0);
    if ((charge_.shard & kSpread) == 0) return PutFor(PartAt(charge_, charge_.shard), shards);
    const std::uint32_t among = charge_.shard & ~kSpread;
    for (std::uint32_t shard = 0; shard < among; ++shard) {
      PutFor(ShareAt(shard, among), shards);
    }
  }

 private:
  void Put(Charge part, std::uint32_t shards) {
    route_.parts.push_back(std::move(part));
    route_.origins.push_back(origin_);
    route_.shards.push_back(shards);
  }

  // Adds the part of an adjust, whose target is the shard that paid.
  void PutFor(Charge part, const AdjustShards& shards) {
    const std::uint32_t written = shards.ShardFor(part.target->key);
    if (written != part.shard) part.target = TargetIn(charge_, written);
    Put(std::move(part), 1);
  }

  // Returns the part of a charge that is spread over `among` shards.
  Charge ShareAt(std::uint32_t shard, std::uint32_t among) const {
    Charge part = PartAt(charge_, shard);
    for (std::int64_t& amount : part.amounts) amount = PartOf(amount, among, shard);
    return part;
  }

  // Returns the highest count in the images of all shards: the image of shard 0 may be the oldest.
  std::uint32_t CountShards(const ShardView& view) const {
    BucketKey key = charge_.target->key;
    std::uint32_t shards = std::max<std::uint32_t>(view.ShardsOf(key), 1);
    for (key.shard = 1; key.shard < std::min(shards, kMaxLookedAt); ++key.shard) {
      shards = std::max(shards, view.ShardsOf(key));
    }
    return shards;
  }

  bool IsTooMuchForOne(std::uint32_t shards) const {
    const std::vector<Limit>& limits = charge_.target->limits;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      // The last shard has the least.
      if (charge_.amounts[i] > ShareOf(limits[i].quota, shards, shards - 1).capacity) return true;
    }
    return false;
  }

  // Begins at a random shard and takes from the first shard that can pay; if no shard can, from the
  // shard with the shortest wait.
  void TakeFromOne(std::uint32_t shards, const ShardView& view, const DrawBelow& draw) {
    const std::uint32_t among = std::min(shards, kMaxLookedAt);
    const auto start = static_cast<std::uint32_t>(draw(among));
    std::uint32_t best = start;
    milliseconds shortest = kLongestWait + milliseconds(1);
    BucketKey key = charge_.target->key;
    for (std::uint32_t i = 0; i < among && shortest > milliseconds(0); ++i) {
      key.shard = (start + i) % among;
      const milliseconds wait = view.WaitAt(key, charge_, shards);
      if (wait >= shortest) continue;
      shortest = wait;
      best = key.shard;
    }
    if (shortest > milliseconds(0)) route_.may_pay = false;
    Put(PartAt(charge_, best), shards);
  }

  const Charge& charge_;
  std::size_t origin_;
  Route& route_;
};

// Adds the status of one more part on the same limit.
void Merge(LimitStatus& whole, const LimitStatus& part) {
  whole.available += part.available;
  whole.requested += part.requested;
  whole.exceeded = whole.exceeded || part.exceeded;
  whole.retry_after = std::max(whole.retry_after, part.retry_after);
}

}  // namespace

bool Route::IsDivided() const {
  return std::ranges::any_of(shards, [](std::uint32_t count) { return count > 1; });
}

TargetPtr InShard(const Target& target, std::uint32_t shard) {
  BucketKey key = target.key;
  key.shard = shard;
  return MakeTarget(std::move(key), target.limits, target.source);
}

Route RouteTake(std::span<const Charge> charges, const ShardView& view, const DrawBelow& draw) {
  Route route;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    Router(charges[i], i, route).Take(view, draw);
  }
  return route;
}

AdjustId KeyOfAdjust(AdjustId adjust_id, const BucketKey& shard) {
  return {adjust_id.high ^ HashOf(shard), adjust_id.low};
}

AdjustId IdOfPart(AdjustId adjust_id, const BucketKey& paid, const BucketKey& written) {
  return paid == written ? adjust_id : KeyOfAdjust(KeyOfAdjust(adjust_id, paid), written);
}

Route RouteAdjust(std::span<const Charge> charges, AdjustId adjust_id,
                  std::span<const ShardCount> counts, const ShardView& view) {
  Route route;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const auto known = std::ranges::find(counts, charges[i].target->key, &ShardCount::bucket);
    Router(charges[i], i, route)
        .Adjust({adjust_id, known == counts.end() ? 0 : known->shards, view});
  }
  return route;
}

Decision MergeDecision(Decision of_parts, const Route& route, std::span<const Charge> charges) {
  if (!route.IsDivided()) return of_parts;
  Decision whole = of_parts;
  whole.limits.clear();
  whole.shards.assign(charges.size(), 0);
  std::vector<std::uint32_t> part_counts(charges.size());
  auto status = of_parts.limits.begin();
  for (std::size_t part = 0; part < route.parts.size(); ++part) {
    const std::size_t origin = route.origins[part];
    ++part_counts[origin];
    const bool is_continued = part > 0 && route.origins[part - 1] == origin;
    const std::size_t limits = charges[origin].amounts.size();
    std::uint32_t& shard = whole.shards[origin];
    // The parts of a spread charge are on shards 0 to N - 1, so the last one determines N.
    shard = is_continued ? kSpread | (route.parts[part].target->key.shard + 1)
                         : route.parts[part].target->key.shard;
    for (std::size_t i = 0; i < limits && status != of_parts.limits.end(); ++i, ++status) {
      if (is_continued) {
        Merge(whole.limits[whole.limits.size() - limits + i], *status);
      } else {
        whole.limits.push_back(*status);
      }
    }
  }
  for (std::size_t part = 0; part < route.parts.size(); ++part) {
    const std::uint32_t equal_parts = route.shards[part] / part_counts[route.origins[part]];
    whole.of_shards = std::max(whole.of_shards, equal_parts);
  }
  if (!whole.admitted) whole.shards.clear();
  return whole;
}

}  // namespace weir::dynamo
