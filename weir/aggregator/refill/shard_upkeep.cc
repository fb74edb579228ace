#include "weir/aggregator/refill/shard_upkeep.h"

#include <algorithm>
#include <string>

#include "weir/zae_table/bucket/bucket_plan.h"
#include "weir/zae_table/sharding/shard_plan.h"

namespace weir::dynamo {
namespace {

constexpr std::int64_t kBusyPart = 5;  // busy if less than a fifth of `wcu` is left

const Meter* MeterOf(const BucketImage& image, std::string_view limit) {
  if (limit == kWriteLimit) return image.wcu ? &*image.wcu : nullptr;
  const auto found = std::ranges::find(image.names, limit);
  if (found == image.names.end()) return nullptr;
  return &image.bucket.meters[static_cast<std::size_t>(found - image.names.begin())];
}

// Returns true if the stored balance does not suffice for the same consumption again, and time has
// given the limit some tokens.
bool IsShort(const BucketImage& image, const LimitDelta& consumed, std::int64_t elapsed) {
  const Meter* meter = MeterOf(image, consumed.limit);
  if (meter == nullptr || consumed.millitokens <= 0) return false;
  if (meter->tokens >= std::min(consumed.millitokens, meter->quota.capacity)) return false;
  return EarnedIn(*meter, elapsed).whole > 0;
}

// The image comes from a record. A sender of events can forge it, and a client may have changed the
// parameters since then without changing rf.
void RequireQuotas(Expression& e, const BucketImage& image) {
  const auto require = [&](std::string_view limit, const Quota& quota) {
    e.Require(LimitAttribute(limit, "cp"), "=", quota.capacity);
    e.Require(LimitAttribute(limit, "ra"), "=", quota.amount);
    e.Require(LimitAttribute(limit, "rp"), "=", quota.period);
  };
  for (std::size_t i = 0; i < image.names.size(); ++i) require(image.names[i], image.stored[i]);
}

std::optional<Write> PlanRefill(const ShardActivity& shard, const BucketImage& image,
                                UnixMillis now) {
  const std::int64_t elapsed = (now - image.bucket.time).count();
  const bool is_due =
      elapsed > 0 && std::ranges::any_of(shard.consumed, [&](const LimitDelta& consumed) {
        return IsShort(image, consumed, elapsed);
      });
  if (!is_due) return std::nullopt;
  const TargetPtr target = MakeTarget(image.key, {});
  auto plan = PlanWrite(Keys(std::string(shard.namespace_id)), image,
                        {.target = *target, .sums = {}, .adjusts = true}, now);
  if (!plan || plan->writes.size() != 1) return std::nullopt;
  RequireQuotas(plan->writes.front().expression, image);
  return std::move(plan->writes.front());
}

bool IsBusy(const BucketImage& image, UnixMillis now) {
  if (image.key.shard != 0 || !image.wcu || !DoubleOf(image)) return false;
  if (image.bucket.time > now + kUncountedAhead) return false;
  Meter writes = *image.wcu;
  Refill(writes, (now - image.bucket.time).count());
  return writes.tokens < writes.quota.capacity / kBusyPart;
}

}  // namespace

Result<ShardUpkeep> PlanUpkeep(const ShardActivity& shard, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(BucketImage image, ReadImage(*shard.image));
  ShardUpkeep upkeep;
  upkeep.refill = PlanRefill(shard, image, now);
  upkeep.divide = IsBusy(image, now);
  upkeep.complete = shard.divided && image.key.shard == 0 && !upkeep.divide;
  if (upkeep.divide || upkeep.complete) upkeep.image = std::move(image);
  return upkeep;
}

}  // namespace weir::dynamo
