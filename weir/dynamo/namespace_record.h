// The two records of a namespace, by name and by id.
//
// Format: zae-limiter 0.17.0, inventory section 1.3 (j): both in partition `_/SYSTEM#`,
// `#NAMESPACE#` and the name forward, `#NSID#` and the id in reverse.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/dynamo/table.h"
#include "weir/model/namespace.h"

namespace weir::dynamo {

inline constexpr std::string_view kForwardPrefix = "#NAMESPACE#";
inline constexpr std::string_view kReversePrefix = "#NSID#";

/// Reads either record. kDataLoss, naming it, where id, name or status are none.
[[nodiscard]] Result<Namespace> ReadNamespace(const Item& record);

/// The records of an active namespace.
Item ForwardRecord(const Namespace& space);
Item ReverseRecord(const Namespace& space);

/// A namespace as both records tell: of each, what there is.
struct NamespaceRecords {
  std::optional<Namespace> forward;
  std::optional<Namespace> reverse;

  /// The name leads to this id.
  bool resolves() const { return forward && reverse && forward->id == reverse->id; }
};

/// What is to be written for each step, in one transaction. Each requires the records to be as they
/// were read. Delete and recover need both records where the other half was done already (Python
/// writes them one after the other), and then do what is left.
std::vector<Write> RegisterWrites(const Namespace& space);
std::vector<Write> DeleteWrites(const NamespaceRecords& records, UnixMillis now);
std::vector<Write> RecoverWrites(const NamespaceRecords& records);
std::vector<Write> BeginPurgeWrites(const NamespaceRecords& records);

/// The end of a purge: the reverse record goes, while it says so.
Write EndPurgeWrite(std::string_view id);

}  // namespace weir::dynamo
