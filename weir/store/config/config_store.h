// The store of declared limits and entities. One interface serves both, because a declaration file
// changes both atomically.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/model/entity.h"
#include "weir/model/limit.h"
#include "weir/model/limits_file.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// A level at which limits can be set. For a request on (entity, resource), the first of these
/// levels that has any limits applies as a whole: kEntity, kEntityDefault, kResource, kSystem.
struct Level {
  enum class Kind { kSystem, kResource, kEntityDefault, kEntity };
  Kind kind = Kind::kSystem;
  std::string entity;    ///< only for kEntityDefault and kEntity
  std::string resource;  ///< only for kResource and kEntity

  static Level System() { return {}; }
  static Level Resource(std::string resource) {
    return {.kind = Kind::kResource, .entity = {}, .resource = std::move(resource)};
  }
  static Level EntityDefault(std::string entity) {
    return {.kind = Kind::kEntityDefault, .entity = std::move(entity), .resource = {}};
  }
  static Level Entity(std::string entity, std::string resource) {
    return {.kind = Kind::kEntity, .entity = std::move(entity), .resource = std::move(resource)};
  }
  friend auto operator<=>(const Level&, const Level&) = default;
};

/// Returns for example "system", "resource gpt-4", "entity acme", or "entity acme, resource gpt-4".
WEIR_API std::string Describe(const Level& level);

/// The settings of one level: limits, or at the system level on_unavailable alone.
struct LevelLimits {
  std::vector<Limit> limits;
  std::optional<OnUnavailable> on_unavailable;  ///< at the system level only
  /// True if a limits file set this level; such a file may remove it again.
  bool managed = false;

  friend bool operator==(const LevelLimits&, const LevelLimits&) = default;
};

struct LevelRecord {
  Level level;
  LevelLimits limits;

  friend bool operator==(const LevelRecord&, const LevelRecord&) = default;
};

/// Selects levels for a listing.
struct WEIR_API LevelFilter {
  std::optional<Level::Kind> kind{};
  /// The default of this entity and its levels for resources.
  std::optional<std::string> entity{};

  bool Matches(const Level& level) const {
    return (!kind || level.kind == *kind) && (!entity || level.entity == *entity);
  }
};

struct EntityRecord {
  Entity entity;
  bool managed = false;  ///< see LevelLimits::managed

  friend bool operator==(const EntityRecord&, const EntityRecord&) = default;
};

struct PutLimits {
  Level level;
  LevelLimits limits;
};
/// Fails with kNotFound if nothing is set at the level.
struct DeleteLimits {
  Level level;
};
/// Fails with kAlreadyExists if an entity has this id.
struct CreateEntity {
  EntityRecord record;
};
/// Creates or replaces an entity; a replaced entity keeps its created_at.
struct PutEntity {
  EntityRecord record;
};
/// Deletes the entity, its limits and its buckets; its children keep the name of their deleted
/// parent. Fails with kNotFound if none of the three exist.
struct DeleteEntity {
  std::string id;
};
using ConfigChange = std::variant<PutLimits, DeleteLimits, CreateEntity, PutEntity, DeleteEntity>;

/// Describes the level or the entity that the change concerns, as above.
WEIR_API std::string Describe(const ConfigChange& change);
/// Returns kInvalidArgument, with the level or entity, unless identifiers, texts
/// (weir/model/entity.h) and limits are valid, a PutLimits sets something, and on_unavailable is
/// set only at the system level. Every store makes this check.
[[nodiscard]] WEIR_API Status Check(const ConfigChange& change);

/// Threads, lifetimes and errors are as for BucketStore. The store checks every change with Check.
/// It refuses changes after which a chain of parents would contain a cycle (kFailedPrecondition).
class WEIR_API ConfigStore {
 public:
  virtual ~ConfigStore() = default;

  /// Returns the settings in the order of `levels`; nothing for a level without settings.
  virtual void GetLimits(std::span<const Level> levels, Deadline deadline,
                         Done<std::vector<std::optional<LevelLimits>>> done) = 0;
  /// Returns the matching levels that have settings, in order. The levels of one entity are found
  /// without reading others.
  virtual void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline deadline,
                          Done<Page<LevelRecord>> done) = 0;

  /// Returns the entities in the order of `ids`; nothing for those that do not exist.
  virtual void GetEntities(std::span<const std::string> ids, Deadline deadline,
                           Done<std::vector<std::optional<EntityRecord>>> done) = 0;
  /// Returns all entities, or the children of one, in the order of their ids.
  virtual void ListEntities(const std::optional<std::string>& parent, const PageRequest& page,
                            Deadline deadline, Done<Page<EntityRecord>> done) = 0;

  /// Makes all changes in order, or none; the error names the change that failed. A store whose
  /// transactions are bounded may make a longer list in several transactions, in order; its error
  /// then says how many changes were made. The buckets of a deleted entity may be removed after the
  /// rest.
  virtual void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) = 0;
};

}  // namespace weir
