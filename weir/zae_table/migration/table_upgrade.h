// Migrates a table to the present schema: limits of legacy items first, the version record last.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"
#include "weir/zae_table/config/config_plan.h"
#include "weir/zae_table/migration/bounded_lines.h"

namespace weir::dynamo {

struct UpgradeRequest {
  bool dry_run = false;  ///< only reads, and reports what would be done
  /// Removes the version of zae-limiter's aggregator from the version record. For a table whose
  /// aggregator does not run any more (CheckAggregator).
  bool clears_aggregator = false;
  std::string by{};  ///< written to the version record; may be empty
  ConfigSources sources{};
  std::size_t page = 1000;  ///< items of one page of the scan
};

/// The result. Of a dry run: what would be done.
struct UpgradeReport {
  std::string from;             ///< the schema before
  bool sets_version = false;    ///< the schema in the version record is changed
  std::string aggregator{};     ///< the version of the aggregator that was removed; empty: none
  std::uint64_t levels = 0;     ///< levels whose limits were stored
  std::uint64_t conflicts = 0;  ///< levels that had limits already, which stay
  std::uint64_t removed = 0;    ///< legacy items that were deleted
  std::uint64_t unread = 0;     ///< items with a legacy sort key that name no limit; they stay
  BoundedLines done{};          ///< one line for each level
  BoundedLines differences{};   ///< limits of removed items that differ from those that stay
  BoundedLines problems{};      ///< levels that are not migrated; then the version stays, too
  /// The error that ended the run early. Everything else in the report was done before the error.
  /// What the request that failed would have done may have happened, too.
  std::optional<Error> ended{};
};

/// Reads the version record and the keys and indexes, then all items, page by page. Each level with
/// legacy items is migrated in one transaction, with its audit event, on the condition that its
/// items are as they were read; if they have changed, the level is read again, up to ten times. A
/// run that ended early changed whole levels only, and another run does the rest. The stored
/// minimum version of clients stays.
///
/// `deadlines` returns the deadline of each request, because the scan of a large table takes long.
///
/// Errors, after which nothing is changed: kNotFound and kFailedPrecondition as OpenCheck;
/// kFailedPrecondition if the schema is a later one, or the table has other keys or lacks an index
/// that clients use. An error after the scan began is UpgradeReport::ended: also kAborted, if
/// others change a level, or the version record, all the time. `table` must outlive the call.
void UpgradeTable(Table& table, UpgradeRequest request, std::function<Deadline()> deadlines,
                  Done<UpgradeReport> done);

}  // namespace weir::dynamo
