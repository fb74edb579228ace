// UsageStore on the table: the counts of an aggregator.
//
// Format: zae-limiter 0.17.0, inventory sections 1.3 (h) and 4.10 and, for 0.17, 2.5. The key does
// not contain the kind of window: the hour at 00:00 and its day are one item, under the name of
// either.
#pragma once

#include <optional>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/model/usage.h"
#include "weir/runtime/deadline.h"
#include "weir/store/config/usage_store.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Returns nothing for an item of another shape, as before version 0.9. Every number that is not
/// one of the record's own counts for the limit of that name.
std::optional<UsageSnapshot> ReadUsage(const Item& item);

/// The table must outlive it and every call. List reads as many pages of the table as it needs, so
/// a filter that few snapshots pass is slow, but yields no empty pages. The snapshots of an entity
/// on all resources are in descending order of the resources.
class UsageTable final : public UsageStore {
 public:
  UsageTable(Table& table, Keys keys) : table_(table), keys_(std::move(keys)) {}

  /// The table adds, so a sum beyond 64 bits is stored and causes no error.
  void Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) override;
  void List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<UsageSnapshot>> done) override;

 private:
  Table& table_;
  const Keys keys_;
};

}  // namespace weir::dynamo
