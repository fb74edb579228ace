// UsageStore on the table: the counts of an aggregator, Weir's (weir/aggregator) or zae-limiter's.
// Format: usage_item.h.
#pragma once

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/model/usage.h"
#include "weir/runtime/deadline.h"
#include "weir/store/config/usage_store.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/records/usage_item.h"

namespace weir::dynamo {

/// The greatest number of counters, `used` and `overdrawn` together, that one Add adds. The update
/// of more than about 350 would exceed the 4 KB that DynamoDB allows for an expression.
inline constexpr std::size_t kMaxAddedCounters = 200;

/// The table must outlive this object and every call. List reads as many pages of the table as it
/// needs, so a filter that few snapshots pass is slow, but yields no empty pages. The snapshots of
/// an entity on all resources are in descending order of the resources.
class UsageTable final : public UsageStore {
 public:
  UsageTable(Table& table, Keys keys) : table_(table), keys_(std::move(keys)) {}

  /// DynamoDB adds, so a sum beyond 64 bits is stored and causes no error. If zae-limiter's
  /// aggregator has created the item of an hour at 00:00, the counts are added to that item, and
  /// are then mixed with those of the day. Fails with kInvalidArgument, without a change, if there
  /// are more than kMaxAddedCounters counters: parts of such a snapshot can be added by several
  /// calls, each of which counts by itself.
  void Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) override;
  void List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<UsageSnapshot>> done) override;
  /// The gaps of all namespaces (usage_gap.h).
  void ListUncounted(UnixMillis from, UnixMillis until, Deadline deadline,
                     Done<UncountedTimes> done) override;

 private:
  void AddTo(UsageOrigin origin, const UsageSnapshot& added, Deadline deadline, Done<void> done);

  Table& table_;
  const Keys keys_;
};

}  // namespace weir::dynamo
