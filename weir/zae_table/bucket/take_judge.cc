#include "weir/zae_table/bucket/take_judge.h"

#include <algorithm>

namespace weir::dynamo {

// Shards are missing if the item does not exist although the bucket is divided, or if the item has
// an older count of shards. If the item has a newer count, only a take whose amount no longer fits
// the shard must be divided differently.
std::optional<OtherShards> DividedOtherwise(const Part& part, const SeenBucket& seen) {
  if (part.shards == 0) return std::nullopt;
  const std::uint32_t shard = part.target->key.shard;
  const bool needs_shards = seen.is_absent() ? shard > 0 || part.shards > 1 || seen.is_divided()
                                             : seen.image()->shards < part.shards;
  const bool gives_back = part.kind == Part::Kind::kGiveBack;  // into any shard that exists
  if (needs_shards && !(gives_back && !seen.is_absent())) return OtherShards{.needs_shards = true};
  if (seen.is_absent() || part.kind != Part::Kind::kTake) return std::nullopt;
  for (std::size_t i = 0; i < part.amounts.size(); ++i) {
    const Quota share = ShareOf(part.target->limits[i].quota, seen.image()->shards, shard);
    if (part.amounts[i] > share.capacity) return OtherShards{};
  }
  return std::nullopt;
}

// The bucket time at which the image was seen is computed from that of the request. In an item
// without `wcu`, no condition could show that the item is as it is in the image. If the shard that
// paid is gone, the tokens are not missing in any other.
bool CountsTooLate(const Part& adjust, const SeenBucket& seen) {
  const BucketImage* image = seen.image();
  if (!adjust.is_bounded() || image == nullptr) return false;
  if (!image->wcu || adjust.paid != adjust.target->key.shard) return true;
  if (image->bucket.time > adjust.counts_by) return true;
  const nanoseconds after = std::max(seen.seen_at(), adjust.began_at) - adjust.began_at;
  return adjust.now + std::chrono::ceil<milliseconds>(after) > adjust.counts_by;
}

UnixMillis DateOf(const Part& part, Instant at) {
  return part.now + kDatedAgainAfter * ((at - part.began_at) / kDatedAgainAfter);
}

Opinion TakeJudge::Judge(const Part& take, const PartQueue& pending) const {
  using Kind = Opinion::Kind;
  if (!seen_.is_known()) return {.kind = Kind::kUnknown};
  if (const auto other = DividedOtherwise(take, seen_)) {
    return {.kind = Kind::kDivided, .needs_shards = other->needs_shards};
  }
  BucketBatch batch = BatchOf(take);
  if (IsOutdated(take, batch)) return {.kind = Kind::kOutdated};
  Opinion opinion{.kind = Kind::kMayPay,
                  .verdict = batch.Judge(take.amounts, pending.UsedOf(*take.target))};
  const bool fits = opinion.verdict.wait == milliseconds(0);
  // A refusal, and the result of a take of 0 tokens, are reported without a write that would
  // correct them, so they need a young image.
  const bool is_response = !fits || take.is_nothing();
  if (is_response && !IsYoung(take)) return {.kind = Kind::kUnknown};
  if (!fits) opinion.kind = Kind::kRefused;
  return opinion;
}

bool TakeJudge::IsOutdated(const Part& take, const BucketBatch& batch) const {
  return !batch.conforms() && take.target->source == LimitSource::kConfigured &&
         take.resolved_at < seen_.parameters_since();
}

bool TakeJudge::IsYoung(const Part& take) const {
  return seen_.seen_at() >= take.began_at || seen_.seen_at() + refusal_age_ >= at_;
}

bool TakeJudge::HasOtherLimits(const Part& take) const {
  return take.target->source == LimitSource::kConfigured && seen_.image() != nullptr &&
         !BatchOf(take).conforms();
}

}  // namespace weir::dynamo
