#include "weir/zae_table/namespace/namespace_change.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "weir/store/config/namespace_store.h"

namespace weir::dynamo {
Result<std::vector<Write>> DecideRegister(const Namespace& wanted, NamespaceRecords& records) {
  if (records.forward) return std::vector<Write>{};
  records = {wanted, wanted};
  return RegisterWrites(wanted);
}

Result<std::vector<Write>> DecideDelete(std::string_view name, NamespaceRecords& records,
                                        UnixMillis now) {
  if (!records.forward) return NoNamespaceToDelete(name);
  if (!records.reverse) {
    return Fail(Code::kDataLoss,
                fmt::format("namespace {}: its id {} has no record", name, records.forward->id));
  }
  std::vector<Write> writes = DeleteWrites(records, now);
  if (records.reverse->status == NamespaceStatus::kPurging) return writes;
  records.reverse->status = NamespaceStatus::kDeleted;
  records.reverse->deleted_at = now;
  return writes;
}

Result<std::vector<Write>> DecideRecover(std::string_view id, NamespaceRecords& records) {
  if (!records.reverse) return UnknownNamespaceId(id);
  Namespace& space = *records.reverse;
  if (space.status == NamespaceStatus::kPurging) {
    return UnfitNamespace(space, "is being purged for good");
  }
  if (space.status == NamespaceStatus::kActive && records.resolves()) {
    return UnfitNamespace(space, "is active: there is nothing to recover");
  }
  if (records.forward && !records.resolves()) {
    return NameIsTaken(space, records.forward->id);
  }
  std::vector<Write> writes = RecoverWrites(records);
  space.status = NamespaceStatus::kActive;
  space.deleted_at.reset();
  return writes;
}

Result<std::vector<Write>> DecidePurge(std::string_view id, NamespaceRecords& records) {
  if (!records.reverse) return UnknownNamespaceId(id);
  if (records.resolves()) return NotYetDeleted(*records.reverse);
  if (records.reverse->status == NamespaceStatus::kPurging) return std::vector<Write>{};
  std::vector<Write> writes = BeginPurgeWrites(records);
  records.reverse->status = NamespaceStatus::kPurging;
  return writes;
}

// The name of an orphan leads to another id or to none. The orphan's record still says kActive if
// zae-limiter's Python client was stopped between its writes of the two records.
std::vector<Namespace> OrphansAmong(const std::vector<Namespace>& by_id,
                                    const std::vector<Namespace>& by_name) {
  std::set<std::string, std::less<>> resolved;
  for (const Namespace& space : by_name) resolved.insert(space.id);
  std::vector<Namespace> orphans;
  for (Namespace space : by_id) {
    if (resolved.contains(space.id)) continue;
    if (space.status == NamespaceStatus::kActive) space.status = NamespaceStatus::kDeleted;
    orphans.push_back(std::move(space));
  }
  return orphans;
}

}  // namespace weir::dynamo
