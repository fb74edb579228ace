// What a list of changes means for the items of the table.
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
#include "weir/dynamo/keys.h"
#include "weir/dynamo/parent_propagation.h"
#include "weir/dynamo/table.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

/// One transaction holds no more actions (AWS, "TransactWriteItems").
inline constexpr std::size_t kMostActions = 100;

/// Where the time and the random numbers of a write come from. Called from any thread.
struct ConfigSources {
  /// What events and entities are dated by, and so what decides when events expire. A store that
  /// gets none uses Table::Now: no clock that can be set.
  std::function<UnixMillis()> now{};
  /// 64 bits that no other process draws too: of transaction tokens and incarnations.
  std::function<std::uint64_t()> random;
  /// Who makes the change, for the audit log; CheckPrincipal accepts it.
  std::optional<std::string> principal{};
};

/// What is read before a list of changes is made.
struct ConfigState {
  /// By key: the item, or nothing where there is none. Holds at least KeysOf(changes), the
  /// registries, and of the entities to be deleted all configurations.
  std::map<TableKey, std::optional<Item>> items;
  std::set<std::string> with_buckets;  ///< of the entities to be deleted
  /// An earlier part of the first change was made, and its event with it (ConfigPlan::partial).
  bool first_is_audited = false;

  /// Null where it is not there, or was not read.
  const Item* Find(const TableKey& key) const;
};

/// The items that the changes are about by themselves: configurations, entities, their parents.
std::vector<TableKey> KeysOf(const Keys& keys, std::span<const ConfigChange> changes);

struct ConfigPlan {
  /// All or none, and only on the state that was read. The event of each audited change is
  /// among them, so that neither is stored without the other.
  std::vector<Write> writes;
  /// Entities whose buckets and other records go after that.
  std::vector<std::string> erased;
  /// Entities whose buckets are told at the very end what the entity's item says now
  /// (PropagateParent): those that come with a parent, those whose parent or cascade changes, and
  /// those that stay as they are, so that applying again goes on where it failed.
  std::vector<PropagationTarget> stamped;
  /// The writes after that, one after the other: they delete the items of these entities.
  std::vector<Write> last;
  /// The writes do not take away all limits of the one entity to be deleted: plan again after them,
  /// and only then go on.
  bool partial = false;
  /// The limits that the writes delete with entities.
  std::size_t dropped = 0;
};

/// Makes the changes on a copy of the state and compares. The error names the change that cannot be
/// made, as ConfigTable's does; or the item that uses what is not implemented here.
[[nodiscard]] Result<ConfigPlan> MakePlan(const Keys& keys, std::span<const ConfigChange> changes,
                                          const ConfigState& state, const ConfigSources& sources);

}  // namespace weir::dynamo
