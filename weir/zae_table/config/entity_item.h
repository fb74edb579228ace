// An entity's own item.
//
// Format: zae-limiter 0.17.0 (schema.py, repository.py): entity_id, name, parent_id (S or NULL),
// cascade, metadata M of S, created_at in whole seconds, pgen N (the creation in ms, plus one for
// each change of the parent and, by Weir, of cascade) and pinc S (16 hexadecimal digits, random for
// each creation). Weir adds wx_created N, the creation in ms, which is valid only while created_at
// names the same second; and wx_managed BOOL, as on configurations.
#pragma once

#include <cstdint>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamodb/table.h"
#include "weir/dynamodb/value.h"
#include "weir/store/config/config_store.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Reads the item of any client. A missing or empty name is replaced by the id, an unreadable
/// created_at by 0; metadata that are not strings are left out. Returns kDataLoss, with the
/// entity's id, if parent_id or cascade has another type: requests would be charged wrongly.
[[nodiscard]] Result<EntityRecord> ReadEntity(const Item& item);

/// The inputs of a creation.
struct Birth {
  UnixMillis now;
  std::uint64_t random = 0;
};

/// Returns the write that creates the item. It fails if the item exists.
Write MakeEntity(const Keys& keys, const EntityRecord& record, const Birth& birth);

/// Returns the write that changes the item to this record. Attributes that Weir does not write,
/// metadata that are not strings, and created_at stay. The write fails if the item was deleted or
/// created again, or its parent or pgen changed, since `old` was read.
Write ChangeEntity(const Keys& keys, const EntityRecord& record, const Item& old);

/// Returns the write that deletes and creates the entity in one step: for a list of changes that
/// contains both.
Write RemakeEntity(const Keys& keys, const EntityRecord& record, const Item& old,
                   const Birth& birth);

/// Returns the write that deletes the item. It fails if the item is gone or was created again since
/// `old` was read.
Write DropEntity(const Keys& keys, const std::string& id, const Item& old);

/// Returns a write that changes nothing. It fails if the entity was created, deleted or created
/// again, or its parent or pgen changed, since `old` was read. `old` is null if the entity did not
/// exist.
Write CheckEntity(const Keys& keys, const std::string& id, const Item* old);

}  // namespace weir::dynamo
