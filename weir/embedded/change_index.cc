#include "weir/embedded/change_index.h"

#include <functional>

namespace weir {

std::size_t ChangeIndex::Hash::Mix(const KeyView& key) {
  const std::hash<std::string_view> hash;
  return hash(key.entity) * 31 + hash(key.resource) * 17 + key.shard;
}

void ChangeIndex::Add(const Change& change) {
  auto at = map_.find(KeyView{change.entity, change.resource, change.shard});
  if (at == map_.end()) {
    at = map_.try_emplace({.entity = std::string(change.entity),
                           .resource = std::string(change.resource),
                           .shard = change.shard})
             .first;
  }
  at->second.time = change.time;
  at->second.limits = change.limits;
  at->second.extras = change.extras;
}

}  // namespace weir
