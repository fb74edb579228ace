// The two records of a namespace: one by name, one by id.
//
// Format: zae-limiter 0.17.0 (schema.py, repository.py). Both are in partition `_/SYSTEM#`: the
// forward record under `#NAMESPACE#` and the name, the reverse record under `#NSID#` and the id.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/dynamodb/table.h"
#include "weir/model/namespace.h"

namespace weir::dynamo {

inline constexpr std::string_view kForwardPrefix = "#NAMESPACE#";
inline constexpr std::string_view kReversePrefix = "#NSID#";

/// Reads either record. Returns kDataLoss, with the record's sort key, if the id or name is
/// missing, or the status is missing or unknown.
[[nodiscard]] Result<Namespace> ReadNamespace(const Item& record);

/// Return the records of an active namespace.
Item ForwardRecord(const Namespace& space);
Item ReverseRecord(const Namespace& space);

/// The records of one namespace, as far as they exist.
struct NamespaceRecords {
  std::optional<Namespace> forward;
  std::optional<Namespace> reverse;

  /// The name leads to this id.
  bool resolves() const { return forward && reverse && forward->id == reverse->id; }
};

/// Return the writes of one step, to be made in one transaction. Each requires the records to be as
/// they were read. DeleteWrites requires both records to exist, RecoverWrites and BeginPurgeWrites
/// the reverse record. zae-limiter's Python client writes the records one after the other; if it
/// did only half, deletion and recovery do the rest.
std::vector<Write> RegisterWrites(const Namespace& space);
std::vector<Write> DeleteWrites(const NamespaceRecords& records, UnixMillis now);
std::vector<Write> RecoverWrites(const NamespaceRecords& records);
std::vector<Write> BeginPurgeWrites(const NamespaceRecords& records);

/// Returns the write that ends a purge: deletes the reverse record, if its status is kPurging.
Write EndPurgeWrite(std::string_view id);

}  // namespace weir::dynamo
