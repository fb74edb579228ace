#include "weir/store/usage/pending_usage.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// Returns the snapshots of the hours. Their counters must not be used: the stored remainder is
// missing.
std::vector<UsageSnapshot> WindowsOf(const BucketKey& key, const std::vector<HourOfUse>& hours) {
  UsageRemainder ignored;
  return SnapshotsOf(key, hours, ignored);
}

}  // namespace

PendingUsage::PendingUsage(UsageFilter filter, const PageRequest& page)
    : filter_(std::move(filter)), limit_(page.limit), buckets_(Order{filter_}) {
  if (page.cursor.empty()) return;
  if (auto position = ReadUsageCursor(filter_, page.cursor)) after_ = *std::move(position);
}

void PendingUsage::Add(const BucketKey& key, std::vector<HourOfUse> hours) {
  const auto bucket = std::make_shared<const Bucket>(Bucket{key, std::move(hours)});
  for (const UsageSnapshot& snapshot : WindowsOf(key, bucket->hours)) {
    UsageCursor at = PositionOf(filter_, snapshot);
    if (!Matches(filter_, snapshot) || (after_ && !IsBefore(filter_, *after_, at))) continue;
    auto& shards = buckets_[std::move(at)];
    shards.push_back(bucket);
    // The order of shards decides which hour gets a token that several of them have used in parts.
    std::ranges::sort(shards, {}, [](const auto& one) { return one->key.shard; });
    if (buckets_.size() - 1 > limit_) buckets_.erase(std::prev(buckets_.end()));
  }
}

void PendingUsage::MergeAt(const UsageCursor& at, const Bucket& bucket, UsageRemainder& remainder,
                           std::vector<UsageSnapshot>& items) {
  for (const UsageSnapshot& added : SnapshotsOf(bucket.key, bucket.hours, remainder)) {
    if (added.window != at.window || added.start != at.start) continue;
    const auto same = std::ranges::find_if(items, [&](const UsageSnapshot& one) {
      return one.window == added.window && one.start == added.start && one.entity == added.entity &&
             one.resource == added.resource;
    });
    if (same == items.end()) {
      items.push_back(added);
    } else {
      AddCounted(*same, added);
    }
  }
}

Status PendingUsage::MergeInto(Page<UsageSnapshot>& stored,
                               const ReadStoredRemainder& read_remainder) const {
  std::vector<UsageSnapshot>& items = stored.items;
  const auto position = [&](const UsageSnapshot& one) { return PositionOf(filter_, one); };
  // Positions after the last item of a full page belong to the next page.
  std::optional<UsageCursor> last;
  if (!stored.next.empty()) last = position(items.back());
  std::map<std::pair<std::string, std::string>, UsageRemainder> remainders;
  const std::size_t stored_count = items.size();
  for (const auto& [at, buckets] : buckets_) {
    if (last && IsBefore(filter_, *last, at)) break;
    const BucketKey& key = buckets.front()->key;
    const auto [remainder, is_new] = remainders.try_emplace({key.entity, key.resource});
    if (is_new) {
      WEIR_ASSIGN_OR_RETURN(remainder->second, read_remainder(key));
    }
    UsageRemainder carried = remainder->second;  // from shard to shard, so that it counts once
    for (const auto& bucket : buckets) MergeAt(at, *bucket, carried, items);
  }
  if (items.size() > stored_count) {
    std::ranges::sort(items, [&](const UsageSnapshot& a, const UsageSnapshot& b) {
      return IsBefore(filter_, position(a), position(b));
    });
  }
  if (items.size() <= limit_) return {};
  items.resize(limit_);
  stored.next = CursorOf(filter_, items.back());
  return {};
}

}  // namespace weir
