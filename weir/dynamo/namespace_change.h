// What a change of a namespace comes to, decided from its two records. Values only.
#pragma once

#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/dynamo/namespace_record.h"
#include "weir/dynamo/table.h"
#include "weir/model/namespace.h"

namespace weir::dynamo {

/// Each says what to write (nothing: all is as wanted) and makes `records` what they will be then.
/// The errors are those of Namespaces' verbs.
using DecidedWrites = Result<std::vector<Write>>;
[[nodiscard]] DecidedWrites DecideRegister(const Namespace& wanted, NamespaceRecords& records);
[[nodiscard]] DecidedWrites DecideDelete(std::string_view name, NamespaceRecords& records,
                                         UnixMillis now);
[[nodiscard]] DecidedWrites DecideRecover(std::string_view id, NamespaceRecords& records);
[[nodiscard]] DecidedWrites DecidePurge(std::string_view id, NamespaceRecords& records);

/// Those of `by_id` that no name leads to, in order; such a one is never active.
std::vector<Namespace> OrphansAmong(const std::vector<Namespace>& by_id,
                                    const std::vector<Namespace>& by_name);

}  // namespace weir::dynamo
