// A limits file held against a store: what applying it would do, and what differs.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/weir/listing.h"
#include "weir/model/limits_file.h"
#include "weir/model/parents.h"

namespace weir::app {

/// What a file declares: levels with limits, and the parent and cascade of entities. Everything is
/// marked as managed. An entity for which the file gives no parent is not declared as such.
Declared DeclaredBy(const LimitsFile& file);

/// What is set in a store, as a file. Entities without parent and without limits, names and
/// metadata are not part of a file.
LimitsFile FileOf(const Declared& live, const std::string& namespace_name);

enum class PlannedAction {
  kCreate,
  kUpdate,
  kDelete,
  kLeave,  ///< not in the file, and not set by one
};

/// Nothing, the limits of a level, or an entity, of which parent and cascade count.
using PlannedState = std::variant<std::monostate, LevelRecord, EntityRecord>;

struct PlannedChange {
  PlannedAction action = PlannedAction::kLeave;
  std::string target;                  ///< for people: "resource gpt-4", or "parent of acme"
  PlannedState live;                   ///< set in the store
  PlannedState file;                   ///< set by the file
  std::optional<ConfigChange> change;  ///< none where it is left
};

struct Plan {
  std::vector<PlannedChange> changes;  ///< levels in order, then entities
  std::size_t unchanged = 0;

  std::size_t Count(PlannedAction action) const;
  /// What to hand to ConfigStore::Apply.
  std::vector<ConfigChange> ToApply() const;
};

/// Who is whose parent in the store once the plan is applied, without limits.
using Parents = std::map<std::string, EntityDeclaration>;
Parents ParentsAfter(const Plan& plan, const Declared& live);

/// A cycle of parents, or a cascade over more than kMaxCascade entities, that the plan would make
/// of parents in the file and in the store. No request of that entity could be decided.
std::optional<ParentFault> NewParentFault(const Plan& plan, const Declared& live);

/// Deletes only what is marked as managed. An entity that the file no longer names is deleted only
/// if it has no limits but managed ones. Entities that no file made and that have no parent are
/// nothing to a file. `now`: when entities that are new were created.
Plan MakePlan(const LimitsFile& file, const Declared& live, UnixMillis now);

/// All of it or nothing; the error names the change that could not be made. Blocks.
[[nodiscard]] Status ApplyPlan(const Plan& plan, ConfigStore& store, Deadline deadline);

/// One field of one level or entity that is not the same. Empty: not there.
struct Difference {
  std::string target;
  std::string field;  ///< "rpm.capacity", "parent", ...; empty: all of it is on one side only
  std::string live;
  std::string file;
};

std::vector<Difference> Differences(const LimitsFile& file, const Declared& live);

/// SummaryOf (plan_summary.h); a change is {"action", "target", "live", "file"}, the last two null,
/// a level as in lists of levels, or {"entity", "parent", "cascade", "managed"}.
nlohmann::ordered_json ToJson(const Plan& plan);
std::string TextOf(const Plan& plan);
nlohmann::ordered_json ToJson(const std::vector<Difference>& differences);
std::string TextOf(const std::vector<Difference>& differences);

}  // namespace weir::app
