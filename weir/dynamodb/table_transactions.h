// Transactions, also those that are sent again if other transactions on their items were in the
// way, or if a try was cut short.
#pragma once

#include "weir/dynamodb/table_access.h"
#include "weir/dynamodb/table_requests.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// The implementation of Table::Transact.
void SendTransaction(TableAccess& table, const Transaction& transaction, Deadline deadline,
                     WriteDone done);

struct TryTerms {
  Deadline deadline;                             ///< the deadline of the call
  nanoseconds longest_try = nanoseconds::max();  ///< the greatest duration of one try
};
/// The implementation of Table::TransactPatiently.
void SendPatiently(TableAccess& table, MakeTransaction make, const TryTerms& terms, WriteDone done);

}  // namespace weir::dynamo
