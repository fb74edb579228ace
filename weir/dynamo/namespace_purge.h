// Deletes everything that a namespace keeps in the table.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/done.h"
#include "weir/dynamo/table.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// Deletes every item of the namespace with this id: those that index GSI4 lists, the partition
/// `{id}/SYSTEM#` (a provisioner before 0.17 left its record out of the index), and the limits that
/// the provisioner's record names, for the same reason. Answers how many. Whatever cuts it off,
/// another call does the rest.
///
/// The index may lag: it is asked until it shows nothing that is still there. Clients that go on
/// writing are the caller's to stop; while they do, this does not end before its deadline. The
/// records of the namespace itself stay. The table must outlive the call.
void PurgeData(Table& table, std::string_view namespace_id, Deadline deadline,
               Done<std::uint64_t> done);

}  // namespace weir::dynamo
