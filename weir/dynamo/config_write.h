// How what is set at one level is written: changes of its item, never the item as a whole.
#pragma once

#include <cstdint>

#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/dynamo/value.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

/// Sets the level. `old` is the item as it was read, null for none: whatever it has that is not
/// ours stays, and the write fails where something else is set there now. `revision` is random.
Write SetConfig(const Keys& keys, const LevelRecord& record, const Item* old,
                std::uint64_t revision);

/// Takes away what is set, on the same condition: deletes the item, or where it has attributes that
/// we do not know, removes ours from it.
Write ClearConfig(const Keys& keys, const Level& level, const Item& old);
/// True if ClearConfig deletes the item.
bool IsOurs(const Level& level, const Item& item);

/// Deletes the item whatever it holds, if it is there and is counted as it was.
Write DropConfig(const Keys& keys, const Level& level, const Item& old);

/// Whether the registries count the item: zae-limiter's provisioner writes items that they do not.
bool IsRegistered(const Level& level, const Item& item);

/// How the registries name what the level is about: its resource, or `_default_`.
std::string ResourceOf(const Level& level);

}  // namespace weir::dynamo
