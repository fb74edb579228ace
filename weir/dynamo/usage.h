// UsageStore on the table: what an aggregator counted.
//
// Format: zae-limiter 0.17.0, inventory sections 1.3 (h) and 4.10 and, for 0.17, 2.5. The key does
// not hold the kind of window: the hour at 00:00 and its day are one item, under either's name.
#pragma once

#include <optional>

#include "weir/base/done.h"
#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/model/usage.h"
#include "weir/runtime/deadline.h"
#include "weir/store/usage_store.h"

namespace weir::dynamo {

/// Nothing for an item that is none as above (the shape it had before 0.9 among them). Every number
/// that is not the record's own counts for the limit of that name.
std::optional<UsageSnapshot> ReadUsage(const Item& item);

/// The table must outlive it and every call. As many pages of it are read as it takes, so a filter
/// that few pass is slow and not empty. Of an entity on all resources the last resource in the
/// alphabet comes first.
class UsageReader final : public UsageStore {
 public:
  UsageReader(Table& table, Keys keys) : table_(table), keys_(std::move(keys)) {}

  /// A sum beyond 64 bits is kept, and not told: it is the table that adds.
  void Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) override;
  void List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<UsageSnapshot>> done) override;

 private:
  Table& table_;
  const Keys keys_;
};

}  // namespace weir::dynamo
