// Makes a list of changes in the table.
#pragma once

#include <vector>

#include "weir/dynamo/config_plan.h"

namespace weir::dynamo {

/// Reads what the changes are about, tries them on what was read, and writes the difference in one
/// transaction on the condition that nothing of it changed meanwhile; where it did, all over again,
/// up to ten times, then kAborted. So all changes are made, or none, while
///
/// * they need at most kMostActions actions: one for each level and each entity, one for the audit
///   event of each change, up to two for the registries, and one for each ancestor of an entity
///   that gets a new parent. A longer list is checked as a whole, then made in parts of whole
///   changes, in order, each all or none. Where a later part fails, the error says which changes
///   are made; PutLimits and PutEntity may be applied again.
/// * nothing is deleted with an entity but its limits: its buckets and other records go after the
///   transaction, page by page, and its own item last of all. Where that fails, deleting it again
///   goes on with it. An entity with more limits than fit loses them in parts; if a later part
///   fails, the error says how many are deleted at least. The event of the deletion is in the first
///   of these transactions; deleting it again adds another.
/// * nothing is said in the transaction to the buckets that an entity has. They are told of its
///   parent and cascade when all else is done, one by one. Where that fails, applying the same
///   record again goes on with it, also one that changes nothing: with PutEntity, as an entity that
///   is created is there.
///
/// `table` must outlive the call.
void ApplyConfig(Table& table, const Keys& keys, const ConfigSources& sources,
                 std::vector<ConfigChange> changes, Deadline deadline, Done<void> done);

}  // namespace weir::dynamo
