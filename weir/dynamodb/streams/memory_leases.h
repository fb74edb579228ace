// Leases in memory: for a single process, and for tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weir/dynamodb/streams/shard_lease.h"

namespace weir::dynamo {

/// Its contents may be stored elsewhere, and put back with the constructor. Not thread-safe.
class MemoryLeases {
 public:
  MemoryLeases() = default;
  explicit MemoryLeases(std::vector<ShardLease> leases);

  std::vector<ShardLease> ReadAll() const;
  LeaseResult Write(const LeaseWrite& write);

 private:
  std::map<std::string, ShardLease> leases_;
};

}  // namespace weir::dynamo
