// An entity's own item.
//
// Format: zae-limiter 0.17.0 (data model 1.3 a, and 2.2): entity_id, name, parent_id (S or NULL),
// cascade, metadata M of S, created_at in whole seconds, pgen N (creation in ms, one more for each
// change of the parent, and where we make it also of cascade) and pinc S (16 hexadecimal digits,
// random for each creation). Ours beside these: wx_created N, the creation in ms, which holds only
// while created_at is the same second; and wx_managed BOOL, as on configurations.
#pragma once

#include <cstdint>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/dynamo/value.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

/// Whoever wrote the item: a name that is missing is the id, an unreadable created_at is 0, and
/// metadata that are no text are left out. kDataLoss, naming the entity, where parent_id or cascade
/// is of another kind: requests would be charged wrongly.
[[nodiscard]] Result<EntityRecord> ReadEntity(const Item& item);

/// What a creation takes from outside.
struct Birth {
  UnixMillis now;
  std::uint64_t random = 0;
};

/// Creates the item; the write fails where there is one.
Write MakeEntity(const Keys& keys, const EntityRecord& record, const Birth& birth);

/// Makes the item say this; attributes and metadata that are not ours stay. created_at stays too.
/// The write fails where it was created anew, or its parent or pgen changed, since it was read.
Write ChangeEntity(const Keys& keys, const EntityRecord& record, const Item& old);

/// As deleting and making it in one write: for one that was deleted and created in one list.
Write RemakeEntity(const Keys& keys, const EntityRecord& record, const Item& old,
                   const Birth& birth);

/// Deletes the item; the write fails where it is gone or was created anew since.
Write DropEntity(const Keys& keys, const std::string& id, const Item& old);

/// Changes nothing; fails where the entity is not as it was read (null: not there), as far as its
/// parents go.
Write CheckEntity(const Keys& keys, const std::string& id, const Item* old);

}  // namespace weir::dynamo
