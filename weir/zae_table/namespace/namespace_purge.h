// Deletes everything that a namespace has stored in the table.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// Deletes every item of the namespace with this id: the items that index GSI4 lists; the partition
/// `{id}/SYSTEM#`, since a provisioner before 0.17 left its record out of the index; and, for the
/// same reason, the limits that the provisioner's record names. Returns the number of items that
/// were deleted; it does not include limits of that record that the index does not list. If a call
/// is interrupted, another call does the rest.
///
/// The index may lag, so it is queried until it lists no item that still exists. The caller must
/// stop clients that write; while clients write, the purge does not end before its deadline. The
/// records of the namespace itself stay. The table must outlive the call.
void PurgeData(Table& table, std::string_view namespace_id, Deadline deadline,
               Done<std::uint64_t> done);

}  // namespace weir::dynamo
