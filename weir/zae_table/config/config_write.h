// The writes of the item of one level. They update attributes, and never replace the whole item.
#pragma once

#include <cstdint>

#include "weir/dynamodb/table.h"
#include "weir/dynamodb/value.h"
#include "weir/store/config/config_store.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Returns the write that sets the level. `old` is the item as it was read; null: it did not exist.
/// Attributes that Weir does not know stay. The write fails if the level's content has changed
/// since the read. `revision` must be random.
Write SetConfig(const Keys& keys, const LevelRecord& record, const Item* old,
                std::uint64_t revision);

/// Returns the write that removes the content of the level, on the same condition as SetConfig. The
/// write deletes the item, or, if the item has attributes that Weir does not know, only removes the
/// attributes of the content.
Write ClearConfig(const Keys& keys, const Level& level, const Item& old);
/// Returns true if the item has no attributes that Weir does not know, so that ClearConfig deletes
/// it.
bool IsOurs(const Level& level, const Item& item);

/// Returns the write that deletes the item whatever it contains. It fails if the item does not
/// exist, or if it has been added to or removed from the registries since it was read.
Write DropConfig(const Keys& keys, const Level& level, const Item& old);

/// Returns the write that sets the retention of audit events in the system's item. It creates the
/// item if there is none.
Write SetAuditRetention(const Keys& keys, std::int64_t days);

/// Returns true if the registries count the item. They do not count items that zae-limiter's
/// provisioner has written.
bool IsRegistered(const Level& level, const Item& item);

/// Returns the name of the level in the registries: its resource, or `_default_`.
std::string ResourceOf(const Level& level);

}  // namespace weir::dynamo
