// Reads and writes the table `usage` of a SQLite file.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/store/config/usage_store.h"
#include "weir/store/usage/counted_usage.h"
#include "weir/store/usage/pending_usage.h"

namespace weir {

/// Writes usage. Not thread-safe; the connection must outlive this object. Add, AddHours and Trim
/// must be called in a transaction, and End when the transaction is committed or rolled back.
class UsageRows {
 public:
  [[nodiscard]] static Result<UsageRows> Open(sqlite::Connection& connection,
                                              UsageLimits limits = {});

  /// Adds usage like UsageStore::Add. Returns kDataLoss if the row that usage is added to is
  /// unreadable. REQUIRES: Check accepts `added`.
  [[nodiscard]] Status Add(const UsageSnapshot& added);
  /// Adds counted hours of a bucket, which are in chronological order. The usage of a window whose
  /// row is unreadable is dropped, and the row is left unchanged.
  [[nodiscard]] Status AddHours(const BucketKey& key, std::span<const HourOfUse> hours);
  /// Removes the rows that have expired, and then the oldest rows above the limit. Rows expire by
  /// `now`, or by the end of the latest hour that AddHours added in this transaction if that is
  /// earlier (as in a replay). Removes at most 2 * (rows added in this transaction) +
  /// kExtraTrimmedRows rows.
  [[nodiscard]] Status Trim(UnixMillis now);
  static constexpr std::int64_t kExtraTrimmedRows = 16;

  /// Updates the statistics at the end of a transaction. Those of a rolled-back transaction are
  /// discarded.
  void End(bool committed);
  /// Returns the statistics of committed transactions. `kept` is 0 until the first Trim.
  UsageStats stats() const { return committed_stats_; }

 private:
  explicit UsageRows(UsageLimits limits) : limits_(limits) {}
  /// Returns the stored snapshot with the key of `wanted`; nothing if there is none.
  Result<std::optional<UsageSnapshot>> Find(const UsageSnapshot& wanted);
  Status Put(const UsageSnapshot& snapshot, const UsageRemainder& remainder);
  /// Returns the remainder of an entity and resource, and clears it in their rows.
  Result<UsageRemainder> TakeRemainder(const BucketKey& key);
  Result<OldestUsage> Oldest();
  /// Removes at most `max_rows` rows of a window that start before `before`. Returns their number.
  Result<std::int64_t> Remove(UsageWindow window, UnixMillis before, std::int64_t max_rows);
  /// Removes expired rows, and subtracts their number from `budget`.
  Status Expire(UnixMillis now, std::int64_t& budget);
  /// Removes at most `max_rows` rows above the limit.
  Status Evict(std::int64_t max_rows);

  UsageLimits limits_;
  std::string file_name_;
  std::optional<sqlite::Statement> find_, put_, select_remainder_, clear_remainder_, oldest_,
      remove_, count_, changes_;
  bool is_counted_ = false;      // pending_stats_.kept is the number of rows
  std::int64_t rows_added_ = 0;  // rows that this transaction has added since the last Trim
  UnixMillis latest_end_;        // end of the latest hour that this transaction has added
  UsageStats pending_stats_;     // committed_stats_ and the changes of this transaction
  UsageStats committed_stats_;
};

/// Returns the remainder of an entity and resource.
[[nodiscard]] Result<UsageRemainder> ReadRemainder(sqlite::Connection& connection,
                                                   const BucketKey& key);

/// Returns the errors of UsageStore::List for invalid arguments.
[[nodiscard]] Status CheckUsagePage(const UsageFilter& filter, const PageRequest& page);

/// Lists usage like UsageStore::List. An unreadable row is noted in `damage`, and in
/// Page::unreadable. REQUIRES: CheckUsagePage holds.
[[nodiscard]] Result<Page<UsageSnapshot>> ListUsage(sqlite::Connection& connection,
                                                    const UsageFilter& filter,
                                                    const PageRequest& page, DamageReport& damage);
/// Lists stored usage like the function above, merged with pending usage of the same filter and
/// page.
[[nodiscard]] Result<Page<UsageSnapshot>> ListUsage(sqlite::Connection& connection,
                                                    const PendingUsage& pending,
                                                    const PageRequest& page, DamageReport& damage);

/// Returns whether a row is a snapshot. `row` has all columns in the order of the table.
bool IsUsageRow(const sqlite::Statement& row);

}  // namespace weir
