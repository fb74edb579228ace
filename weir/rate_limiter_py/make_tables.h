// Clients of the three tables, and the creation of the tables.
#pragma once

#include <cstdint>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/rate_limiter_py/tables.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/zae_table/table_admin.h"

namespace weir::rate_limiter_py {

/// Clients of the three tables. Not movable, because the clients refer to the layouts. `client` and
/// `scheduler` must outlive this object.
struct Tables {
  /// `seed` seeds the random pauses between retries; each process should use its own.
  Tables(JsonClient& client, Scheduler& scheduler, TableNames table_names, std::uint64_t seed);
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const TableNames names;
  const TableLayouts layouts;
  dynamo::Table tokens;
  dynamo::Table limits;
  dynamo::Table slots;
};

/// For each table: whether it was created or existed, and which features were turned on.
struct TablesMade {
  dynamo::TableCreated tokens;
  dynamo::TableCreated limits;
  dynamo::TableCreated slots;
};

/// Creates the tables that do not exist, one after the other, and completes an earlier call that
/// was interrupted: it turns on point-in-time recovery for the limits, which cannot be restored
/// otherwise, and time to live by `expirationTime` for the slots. Billing, streams and further
/// indexes of an existing table are not changed. Errors are those of TableAdmin::Create:
/// kFailedPrecondition, with the name, if an existing table has other keys or lacks the index.
/// Tables that were created before an error are kept. `tables` and `scheduler` must outlive the
/// call.
void MakeTables(Tables& tables, Scheduler& scheduler, Deadline deadline, Done<TablesMade> done);

}  // namespace weir::rate_limiter_py
