// Applies a list of changes of the configuration to the table.
#pragma once

#include <vector>

#include "weir/zae_table/config/config_plan.h"

namespace weir::dynamo {

/// Returns true if a transaction failed because another writer has changed one of its items, or
/// because the table is busy. Then nothing was written, even if the response of an earlier attempt
/// was lost, because all attempts have the same transaction token and are applied once.
bool IsWorthAnotherTry(const WriteFailure& failure);

/// Reads the items that the changes concern, applies the changes to a copy, and writes the
/// difference in one transaction, on the condition that none of these items has changed since. If
/// an item has changed, starts again; after ten tries in all, fails with kAborted. So all changes
/// are made, or none, with these exceptions:
///
/// * A list may need more than kMaxActions actions: one for each level and each entity, one for the
///   audit event of each change, up to two for the registries, one for each ancestor of an entity
///   that gets a new parent, and one for the version record (RaiseClientMin). Such a list is
///   checked as a whole, and then made in order by several transactions, each of which contains
///   whole changes. If a later transaction fails, the error says which changes are made; PutLimits
///   and PutEntity may be applied again.
/// * The transaction that deletes an entity deletes only the entity's limits. The entity's other
///   records and its buckets are deleted afterwards, page by page, and its own item last. If that
///   fails, deleting the entity again continues the deletion. If the limits do not fit into one
///   transaction, they are deleted in several; if a later transaction fails, the error says how
///   many limits are deleted at least. The audit event is in the first of these transactions;
///   deleting the entity again adds another.
/// * The buckets of an entity that gets another parent or cascade are updated one by one, when all
///   else is done. If that fails, applying the same record again continues the updates, even if the
///   record does not change. After a CreateEntity the entity exists by then, so PutEntity must be
///   used.
///
/// Runs `done` once. The arguments are copied; `table` must outlive the call.
void ApplyConfig(Table& table, const Keys& keys, const ConfigSources& sources,
                 std::vector<ConfigChange> changes, Deadline deadline, Done<void> done);

}  // namespace weir::dynamo
