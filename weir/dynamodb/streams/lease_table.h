// Leases of shards as items of a DynamoDB table.
//
// All leases of a stream are in one partition; the sort key is the name of the shard. Attributes:
// lease_owner, lease_epoch, lease_version, lease_term (ms), lease_wanted_by, parent, position (the
// name of a ShardPosition::At), sequence_number, created (Unix ms).
#pragma once

#include <string>

#include "weir/dynamodb/streams/lease_store.h"
#include "weir/dynamodb/table.h"

namespace weir::dynamo {

/// If the table has a stream of its own, each write of a lease adds a record to it.
class LeaseTable final : public LeaseStore {
 public:
  /// `table` must outlive it, and have a partition key and a sort key of type S. `partition` should
  /// contain the ARN of the stream: another stream has other shards.
  LeaseTable(Table& table, std::string partition);

  void ReadAll(Deadline deadline, Done<StoredLeases> done) override;
  void Write(const LeaseWrite& write, Deadline deadline, Done<LeaseResult> done) override;

 private:
  Table& table_;
  const std::string partition_;
};

/// Returns the attributes of a lease, without its key.
Item ToLeaseItem(const ShardLease& lease);
/// Returns kDataLoss if an attribute is missing or has another form.
[[nodiscard]] Result<ShardLease> ReadLease(std::string_view shard, const Item& item);

}  // namespace weir::dynamo
