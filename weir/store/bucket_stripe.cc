#include "weir/store/bucket_stripe.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::size_t kTidyChains = 4;
constexpr std::uint32_t kTidyEvery = 32;

Meter Conformed(const Limit& limit, const std::vector<Limit>& old, const Bucket& bucket) {
  const auto found = std::ranges::find(old, limit.name, &Limit::name);
  if (found == old.end()) return FullMeter(limit.quota);
  Meter meter = bucket.meters[static_cast<std::size_t>(found - old.begin())];
  ChangeQuota(meter, limit.quota);
  return meter;
}

}  // namespace

BucketStripe::Node* BucketStripe::Find(BucketRef ref) {
  const auto found = map.find(ref);
  return found == map.end() ? nullptr : &*found;
}

BucketStripe::Node& BucketStripe::Add(const TargetPtr& target, Bucket bucket) {
  grown = true;
  return *map.emplace(BucketId{target->hash, target}, BucketEntry{std::move(bucket)}).first;
}

void BucketStripe::MarkChanged(Node& node) {
  if (!track_changes || node.second.changed) return;
  node.second.changed = true;
  changed.push_back(&node);
}

BucketStripe::Map::iterator BucketStripe::Remove(Map::iterator at) {
  if (at->second.kept) removed.push_back(at->first.target);
  if (at->second.changed) std::erase(changed, &*at);
  return map.erase(at);
}

void BucketStripe::Sweep(std::size_t chains, UnixMillis idle_since) {
  // A change that waits to be drained keeps its bucket: the drain holds a pointer to it.
  const auto idle = [&](const BucketEntry& entry) {
    return !entry.changed && IsFull(entry.bucket, idle_since);
  };
  for (; chains > 0; --chains) {
    hand = hand + 1 < map.bucket_count() ? hand + 1 : 0;
    std::vector<BucketRef> gone;
    for (auto at = map.begin(hand); at != map.end(hand); ++at) {
      if (idle(at->second)) gone.push_back({at->first.target->key, at->first.hash});
    }
    for (const BucketRef& ref : gone) Remove(map.find(ref));
  }
}

void BucketStripe::Tidy(UnixMillis idle_since) {
  if (!grown && ++uses % kTidyEvery != 0) return;
  grown = false;
  Sweep(kTidyChains, idle_since);
}

Bucket FullBucket(const std::vector<Limit>& limits, UnixMillis now) {
  Bucket bucket{.time = now, .meters = {}};
  bucket.meters.reserve(limits.size());
  for (const Limit& limit : limits) bucket.meters.push_back(FullMeter(limit.quota));
  return bucket;
}

bool Conform(BucketStripe::Node& node, const TargetPtr& target, UnixMillis now) {
  TargetPtr& current = node.first.target;
  if (current == target) return false;
  if (current->limits == target->limits) {
    current = target;
    return false;
  }
  Bucket& bucket = node.second.bucket;
  Refill(bucket, now);
  std::vector<Meter> meters;
  meters.reserve(target->limits.size());
  for (const Limit& limit : target->limits) {
    meters.push_back(Conformed(limit, current->limits, bucket));
  }
  bucket.meters = std::move(meters);
  current = target;
  return true;
}

}  // namespace weir
