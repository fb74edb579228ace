// Plans the writes that a list of changes of the configuration needs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamodb/table.h"
#include "weir/store/config/config_store.h"
#include "weir/zae_table/bucket/parent_propagation.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// The greatest number of actions in one transaction (AWS, "TransactWriteItems").
inline constexpr std::size_t kMaxActions = 100;

/// The sources of the time, the random numbers and the principal of writes. The functions are
/// called from any thread.
struct ConfigSources {
  /// The time of events and of new entities. It decides when events expire. Empty: a store uses
  /// Table::Now, which does not follow a clock that can be set.
  std::function<UnixMillis()> now{};
  /// Returns 64 random bits, which must differ from those of other processes: used in transaction
  /// tokens, revisions, event ids and incarnations.
  std::function<std::uint64_t()> random;
  /// The principal that makes the change, for the audit log. Must pass CheckPrincipal.
  std::optional<std::string> principal{};
};

/// The stored state that a list of changes depends on.
struct ConfigState {
  /// By key: the item, or nothing if it does not exist. Contains at least KeysOf(changes), the
  /// registries, all limits of the entities to be deleted, and the system's item, which has the
  /// retention of events.
  std::map<TableKey, std::optional<Item>> items;
  std::set<std::string> with_buckets;  ///< the entities to be deleted that have buckets
  /// An earlier transaction made a part of the first change, and stored its event
  /// (ConfigPlan::partial).
  bool first_is_audited = false;

  /// Returns null if the item does not exist, or was not read.
  const Item* Find(const TableKey& key) const;
};

/// Returns the keys of the items that the changes name: levels, entities, and their parents. If
/// they name entities, also returns the key of the version record, in which MakePlan raises
/// client_min if an entity that exists gets another parent.
std::vector<TableKey> KeysOf(const Keys& keys, std::span<const ConfigChange> changes);

/// The writes of a list of changes, in the order in which they are made: `writes`, then the erasure
/// of `erased_entities`, then `deleted_items`, then `propagated`.
struct ConfigPlan {
  /// One transaction, on the condition that the state is as it was read. It contains the event of
  /// each audited change, so that neither is stored without the other.
  std::vector<Write> writes;
  /// Deleted entities, whose buckets and other records are deleted after `writes`.
  std::vector<std::string> erased_entities;
  /// Entities whose parent and cascade are copied into their buckets at the very end
  /// (PropagateParent): new entities with a parent, entities whose parent or cascade changes, and
  /// entities whose record stays the same, so that applying the record again continues after a
  /// failure.
  std::vector<PropagationTarget> propagated;
  /// Writes that are made after the erasure, one by one: they delete the items of entities.
  std::vector<Write> deleted_items;
  /// `writes` do not delete all limits of the one entity to be deleted: after `writes` the change
  /// must be planned again, before its other steps.
  bool partial = false;
  /// The number of limits that `writes` delete with entities.
  std::size_t dropped = 0;
};

/// Applies the changes to a copy of the state, and plans the difference. The error names the change
/// that cannot be made, as ConfigTable's does, or the item that uses a feature that is not
/// implemented.
[[nodiscard]] Result<ConfigPlan> MakePlan(const Keys& keys, std::span<const ConfigChange> changes,
                                          const ConfigState& state, const ConfigSources& sources);

}  // namespace weir::dynamo
