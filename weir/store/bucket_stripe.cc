#include "weir/store/bucket_stripe.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::size_t kTidyCount = 4;
constexpr std::uint32_t kTidyEvery = 32;

Meter Conformed(const Limit& limit, const std::vector<Limit>& old, const Bucket& bucket) {
  const auto found = std::ranges::find(old, limit.name, &Limit::name);
  if (found == old.end()) return FullMeter(limit.quota);
  Meter meter = bucket.meters[static_cast<std::size_t>(found - old.begin())];
  ChangeQuota(meter, limit.quota);
  return meter;
}

}  // namespace

BucketEntry* BucketStripe::Find(BucketRef ref) {
  const auto found = index.find(ref);
  return found == index.end() ? nullptr : *found;
}

BucketEntry& BucketStripe::Add(const TargetPtr& target, Bucket bucket) {
  grown = true;
  entries.push_back(
      std::make_unique<BucketEntry>(BucketEntry{.hash = target->hash,
                                                .target = target,
                                                .place = static_cast<std::uint32_t>(entries.size()),
                                                .bucket = std::move(bucket)}));
  BucketEntry& entry = *entries.back();
  index.insert(&entry);
  return entry;
}

void BucketStripe::MarkChanged(BucketEntry& entry) {
  if (!track_changes || entry.changed) return;
  entry.changed = true;
  changed.push_back(&entry);
}

void BucketStripe::Remove(BucketEntry& entry) {
  if (entry.kept) removed.push_back(entry.target);
  if (entry.changed) std::erase(changed, &entry);
  index.erase(&entry);
  const std::size_t place = entry.place;
  entries[place].swap(entries.back());
  entries[place]->place = static_cast<std::uint32_t>(place);
  entries.pop_back();
}

void BucketStripe::Sweep(std::size_t count, UnixMillis idle_since) {
  for (; count > 0 && !entries.empty(); --count) {
    if (hand >= entries.size()) hand = 0;
    BucketEntry& entry = *entries[hand];
    // A change that waits to be drained keeps its bucket: the drain holds a pointer to it.
    if (!entry.changed && IsFull(entry.bucket, idle_since)) {
      Remove(entry);
    } else {
      ++hand;
    }
  }
}

void BucketStripe::Tidy(UnixMillis idle_since) {
  if (!grown && ++uses % kTidyEvery != 0) return;
  grown = false;
  Sweep(kTidyCount, idle_since);
}

Bucket FullBucket(const std::vector<Limit>& limits, UnixMillis now) {
  Bucket bucket{.time = now, .meters = {}};
  bucket.meters.reserve(limits.size());
  for (const Limit& limit : limits) bucket.meters.push_back(FullMeter(limit.quota));
  return bucket;
}

bool Conform(BucketEntry& entry, const TargetPtr& target, UnixMillis now) {
  TargetPtr& current = entry.target;
  if (current == target) return false;
  if (current->limits == target->limits) {
    current = target;
    return false;
  }
  Bucket& bucket = entry.bucket;
  Refill(bucket, now);
  Meters meters;
  meters.reserve(target->limits.size());
  for (const Limit& limit : target->limits) {
    meters.push_back(Conformed(limit, current->limits, bucket));
  }
  bucket.meters = std::move(meters);
  current = target;
  return true;
}

}  // namespace weir
