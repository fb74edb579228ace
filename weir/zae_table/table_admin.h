// The table as a whole: creation, status, check and deletion.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/zae_table/migration/table_contents.h"
#include "weir/zae_table/migration/table_upgrade.h"
#include "weir/zae_table/table_creation.h"
#include "weir/zae_table/table_purpose.h"
#include "weir/zae_table/version.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {

struct TableStatus {
  TableDescription table;
  Feature time_to_live = Feature::kOff;
  std::string time_to_live_attribute;  ///< if it is on
  Feature recovery = Feature::kOff;
  std::optional<VersionInfo> version;  ///< nothing: there is no record
};

struct TableSurvey {
  TableStatus status;
  TableContents contents;  ///< empty if the table is being created
};

/// Thread-safe. Table and scheduler must outlive this object and every call. A call that has waited
/// continues on the scheduler's thread. `done` is called as weir/base/done.h says. All but Create
/// return kNotFound if the table does not exist.
class TableAdmin {
 public:
  TableAdmin(Table& table, Scheduler& scheduler, TablePurpose purpose = {})
      : table_(table), scheduler_(scheduler), purpose_(std::move(purpose)) {}

  /// Creates the table with its layout, waits until it is active, turns on time to live and
  /// recovery to a point in time, and writes the version record if there is none. Steps that the
  /// purpose does not include, or that were done before, are skipped, so a call that was
  /// interrupted is completed by the next. `by` is written to the version record; it may be empty.
  ///
  /// Returns kFailedPrecondition, and changes nothing, if a table of that name has another layout.
  /// Also returns kFailedPrecondition if the table's time to live uses another attribute. Returns
  /// kUnavailable if the table is being deleted, and kDeadlineExceeded if it does not become active
  /// in time.
  void Create(std::string_view by, Deadline deadline, Done<TableCreated> done);

  void ReadStatus(Deadline deadline, Done<TableStatus> done);

  /// Returns one line for each difference from a table that Create makes.
  void Check(Deadline deadline, Done<std::vector<std::string>> done);

  /// Reads the status, and the first `max_items` items of a scan. migration/table_survey.h makes
  /// texts of the result.
  void Survey(std::uint64_t max_items, Deadline deadline, Done<TableSurvey> done);

  /// Migrates the table to the present schema: UpgradeTable.
  void Upgrade(UpgradeRequest request, std::function<Deadline()> deadlines,
               Done<UpgradeReport> done);

  /// Deletes the table with all of its items. Completes when the deletion has begun.
  void Delete(Deadline deadline, Done<void> done);

 private:
  Table& table_;
  Scheduler& scheduler_;
  const TablePurpose purpose_;
};

/// Returns the lines that Check returns for this status.
std::vector<std::string> Shortcomings(const TableStatus& status,
                                      const TableLayout& layout = ZaeLayout(),
                                      const TablePurpose& purpose = {});

}  // namespace weir::dynamo
