#include "weir/embedded/change_index.h"

namespace weir {

void ChangeIndex::Add(const Change& change) {
  const KeyView key{change.entity, change.resource, change.shard};
  auto at = map_.lower_bound(key);
  if (at == map_.end() || Less{}(key, at->first)) {
    at = map_.emplace_hint(at,
                           BucketKey{.entity = std::string(change.entity),
                                     .resource = std::string(change.resource),
                                     .shard = change.shard},
                           LatestChange{});
  }
  at->second.time = change.time;
  at->second.limits = change.limits;
}

}  // namespace weir
