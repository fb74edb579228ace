#include "weir/aggregator/usage/usage_group.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <tuple>

namespace weir::dynamo {
namespace {

using GroupId =
    std::tuple<std::string_view, std::string_view, std::string_view, UsageWindow, std::int64_t>;

UsageSource& SourceOf(UsageGroup& group, std::uint32_t shard) {
  const auto found = std::ranges::find(group.sources, shard, &UsageSource::shard);
  if (found != group.sources.end()) return *found;
  return group.sources.emplace_back(UsageSource{.shard = shard, .changes = {}});
}

// Records of one item arrive in ascending order, except those that are delivered again.
void Insert(UsageSource& source, const BucketChange& change) {
  auto& changes = source.changes;
  if (changes.empty() || changes.back()->sequence < change.sequence) {
    changes.push_back(&change);
    return;
  }
  const auto at = std::ranges::lower_bound(changes, change.sequence, {}, &BucketChange::sequence);
  if (at == changes.end() || (*at)->sequence != change.sequence) changes.insert(at, &change);
}

}  // namespace

std::vector<UsageGroup> GroupUsage(std::span<const BucketChange> changes,
                                   std::span<const UsageWindow> windows) {
  std::vector<UsageGroup> groups;
  absl::flat_hash_map<GroupId, std::size_t> known;
  known.reserve(changes.size() * windows.size());
  for (const BucketChange& change : changes) {
    if (change.deltas.empty()) continue;
    const BucketKey& bucket = change.bucket;
    for (const UsageWindow window : windows) {
      const UnixMillis start = StartOf(window, change.at);
      const auto [at, is_new] = known.try_emplace(
          {change.namespace_id, bucket.entity, bucket.resource, window, start.value},
          groups.size());
      if (is_new) {
        groups.push_back({.namespace_id = change.namespace_id,
                          .usage = {bucket.entity, bucket.resource, window, start},
                          .sources = {},
                          .first_record = change.record});
      }
      Insert(SourceOf(groups[at->second], bucket.shard), change);
    }
  }
  return groups;
}

}  // namespace weir::dynamo
