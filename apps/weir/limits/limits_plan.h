// Compares a limits file with a store: the changes that applying it makes, and the differences.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/weir/terminal/listing.h"
#include "weir/model/limits_file.h"
#include "weir/model/parents.h"

namespace weir::app {

/// Returns the levels with limits, and the parents and cascades of entities, that a file declares.
/// All of it is marked as managed. An entity without a parent in the file is not declared.
Declared DeclaredBy(const LimitsFile& file);

/// Returns the content of a store as a file. The file does not have names, metadata, and entities
/// without parent and limits.
LimitsFile FileOf(const Declared& live, const std::string& namespace_name);

enum class PlannedAction {
  kCreate,
  kUpdate,
  kDelete,
  kLeave,  ///< not in the file; stays in the store
};

/// Nothing, the limits of a level, or an entity, of which only parent and cascade are compared.
using PlannedState = std::variant<std::monostate, LevelRecord, EntityRecord>;

struct PlannedChange {
  PlannedAction action = PlannedAction::kLeave;
  std::string target;                  ///< a label, e.g. "resource gpt-4" or "parent of acme"
  PlannedState live;                   ///< the present state in the store
  PlannedState wanted;                 ///< the state that the file declares
  std::optional<ConfigChange> change;  ///< nothing for kLeave
};

struct Plan {
  std::vector<PlannedChange> changes;  ///< levels in order, then entities
  std::size_t unchanged = 0;

  std::size_t Count(PlannedAction action) const;
  /// Returns the changes for ConfigStore::Apply.
  std::vector<ConfigChange> ToApply() const;
};

using Parents = std::map<std::string, EntityDeclaration>;
/// Returns the parent and cascade of each entity in the store after the plan is applied, without
/// limits.
Parents ParentsAfter(const Plan& plan, const Declared& live);

/// Returns a fault that the plan would create: a cycle of parents, or a cascade over more than
/// kMaxCascade entities, in the parents of the file and of the store. Requests of that entity would
/// always fail.
std::optional<ParentFault> ParentFaultIntroducedBy(const Plan& plan, const Declared& live);

/// Plans the changes. Deletes only managed records, and an entity that the file no longer names
/// only if all its limits are managed. A file that has on_unavailable and no limits of the system
/// deletes those of the store. Entities that no file created and that have no parent are ignored.
/// `now` is the creation time of new entities.
Plan MakePlan(const LimitsFile& file, const Declared& live, UnixMillis now);

/// Applies the changes as ConfigStore::Apply does: all or none, but a long list possibly in parts.
/// The error names the change that failed. Blocks.
[[nodiscard]] Status ApplyPlan(const Plan& plan, ConfigStore& store, Deadline deadline);

/// A field of a level or entity that differs. If `live` or `file` is empty, that side has no such
/// field.
struct Difference {
  std::string target;
  std::string field;  ///< "rpm.capacity", "parent", ...; empty: the record is on one side only
  std::string live;
  std::string file;
};

std::vector<Difference> Differences(const LimitsFile& file, const Declared& live);

/// Returns SummaryOf (plan_summary.h). A change is {"action", "target", "live", "file"}; the last
/// two are null, a level as in lists of levels, or {"entity", "parent", "cascade", "managed"}.
nlohmann::ordered_json ToJson(const Plan& plan);
std::string TextOf(const Plan& plan);
nlohmann::ordered_json ToJson(const std::vector<Difference>& differences);
std::string TextOf(const std::vector<Difference>& differences);

}  // namespace weir::app
