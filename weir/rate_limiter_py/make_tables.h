// The three tables, to be called and to be made.
#pragma once

#include <cstdint>

#include "weir/base/done.h"
#include "weir/dynamo/table.h"
#include "weir/dynamo/table_admin.h"
#include "weir/rate_limiter_py/tables.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"

namespace weir::rate_limiter_py {

/// Tables refer to their layouts, which live here too: it stays where it is. Client and scheduler
/// must outlive it.
struct Tables {
  /// `seed`: of pauses; each process should have its own.
  Tables(JsonClient& client, Scheduler& scheduler, TableNames table_names, std::uint64_t seed);
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const TableNames names;
  const TableLayouts layouts;
  dynamo::Table tokens;
  dynamo::Table limits;
  dynamo::Table slots;
};

/// Of each table whether it was created or was there, and what is turned on.
struct TablesMade {
  dynamo::TableCreated tokens;
  dynamo::TableCreated limits;
  dynamo::TableCreated slots;
};

/// Creates those that are not there, one after the other, and completes what an earlier call began:
/// recovery to a point in time for the limits, which nothing else would bring back; time to live by
/// `expirationTime` for the slots. Billing, streams and further indexes of a table that is there
/// are its owner's business. Else errors as TableAdmin::Create: kFailedPrecondition, by name, for a
/// table that is there and has other keys, or lacks the index. Tables that were made before an
/// error stay. Tables and scheduler must outlive the call.
void MakeTables(Tables& tables, Scheduler& scheduler, Deadline deadline, Done<TablesMade> done);

}  // namespace weir::rate_limiter_py
