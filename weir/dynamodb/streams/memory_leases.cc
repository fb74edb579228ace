#include "weir/dynamodb/streams/memory_leases.h"

#include <utility>

namespace weir::dynamo {

MemoryLeases::MemoryLeases(std::vector<ShardLease> leases) {
  for (ShardLease& lease : leases) leases_.emplace(lease.shard, std::move(lease));
}

std::vector<ShardLease> MemoryLeases::ReadAll() const {
  std::vector<ShardLease> all;
  all.reserve(leases_.size());
  for (const auto& [shard, lease] : leases_) all.push_back(lease);
  return all;
}

LeaseResult MemoryLeases::Write(const LeaseWrite& write) {
  const auto found = leases_.find(write.lease.shard);
  const bool exists = found != leases_.end();
  if (write.expected != (exists ? found->second.version : 0)) {
    return {.applied = false, .current = exists ? std::optional(found->second) : std::nullopt};
  }
  if (write.remove) {
    leases_.erase(found);
  } else {
    leases_[write.lease.shard] = write.lease;
  }
  return {.applied = true};
}

}  // namespace weir::dynamo
