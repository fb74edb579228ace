// Merges usage that is still counted next to its buckets into a page of stored snapshots.
// Mechanism: docs/design/usage.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/store/config/usage_table.h"
#include "weir/store/usage/counted_usage.h"

namespace weir {

/// The pending usage of one page of a listing. Its memory is bounded by the limit of the page,
/// times the number of shards of a bucket. A value; not thread-safe.
class PendingUsage {
 public:
  /// REQUIRES: the filter, the limit and the cursor of `page` are valid.
  PendingUsage(UsageFilter filter, const PageRequest& page);

  const UsageFilter& filter() const { return filter_; }
  /// Adds the hours of a bucket, in the order of time.
  void Add(const BucketKey& key, std::vector<HourOfUse> hours);
  /// Returns the remainder of an entity and resource, as stored.
  using ReadStoredRemainder = std::function<Result<UsageRemainder>(const BucketKey& key)>;
  /// Merges the usage into `stored`, which must be the page after the same cursor. Errors are those
  /// of `read_remainder`.
  [[nodiscard]] Status MergeInto(Page<UsageSnapshot>& stored,
                                 const ReadStoredRemainder& read_remainder) const;

 private:
  struct Bucket {
    BucketKey key;
    std::vector<HourOfUse> hours;
  };
  struct Order {
    UsageFilter filter;
    bool operator()(const UsageCursor& a, const UsageCursor& b) const {
      return IsBefore(filter, a, b);
    }
  };

  /// Merges the windows of a bucket at this position into the items. `remainder` is as for
  /// SnapshotsOf.
  static void MergeAt(const UsageCursor& at, const Bucket& bucket, UsageRemainder& remainder,
                      std::vector<UsageSnapshot>& items);

  const UsageFilter filter_;
  const std::size_t limit_;
  std::optional<UsageCursor> after_;
  // The first limit_ + 1 positions after the cursor, each with the buckets that were used then: the
  // shards of one bucket.
  std::map<UsageCursor, std::vector<std::shared_ptr<const Bucket>>, Order> buckets_;
};

}  // namespace weir
