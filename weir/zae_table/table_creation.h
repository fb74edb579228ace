// Creates a table with its layout and features.
#pragma once

#include <string>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/zae_table/table_purpose.h"

namespace weir::dynamo {

struct TableCreated {
  bool created = false;  ///< false: the table existed, and was completed if something was missing
  Feature time_to_live = Feature::kOff;
  Feature recovery = Feature::kOff;  ///< to any point in the last 35 days
  bool wrote_version = false;
};

struct TableCreation {
  TablePurpose purpose{};
  std::string by{};  ///< written to the version record
  Deadline deadline = Deadline::Never();
};
/// The implementation of TableAdmin::Create.
void CreateTable(Table& table, Scheduler& scheduler, TableCreation creation,
                 Done<TableCreated> done);

}  // namespace weir::dynamo
