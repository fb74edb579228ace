// Decides which writes a change of a namespace needs, from its two records. No I/O.
#pragma once

#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/dynamodb/table.h"
#include "weir/model/namespace.h"
#include "weir/zae_table/namespace/namespace_record.h"

namespace weir::dynamo {

/// Each function returns the writes of one change (none if the records are as wanted already). It
/// changes the record that the change reports to what it is after these writes: both records in
/// DecideRegister, otherwise the reverse record only. The errors are those of Namespaces' methods.
using DecidedWrites = Result<std::vector<Write>>;
[[nodiscard]] DecidedWrites DecideRegister(const Namespace& wanted, NamespaceRecords& records);
[[nodiscard]] DecidedWrites DecideDelete(std::string_view name, NamespaceRecords& records,
                                         UnixMillis now);
[[nodiscard]] DecidedWrites DecideRecover(std::string_view id, NamespaceRecords& records);
[[nodiscard]] DecidedWrites DecidePurge(std::string_view id, NamespaceRecords& records);

/// Returns the namespaces of `by_id` that no name leads to, in the order of `by_id`. A status
/// kActive is replaced by kDeleted.
std::vector<Namespace> OrphansAmong(const std::vector<Namespace>& by_id,
                                    const std::vector<Namespace>& by_name);

}  // namespace weir::dynamo
