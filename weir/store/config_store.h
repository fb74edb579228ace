// Where limits and entities are declared. One interface for both, because a declaration file
// changes both at once, all or nothing.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/done.h"
#include "weir/model/entity.h"
#include "weir/model/limit.h"
#include "weir/model/limits_file.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// A level that limits can be set at. For a request on (entity, resource) the first of these that
/// has any limits wins as a whole: kEntity, kEntityDefault, kResource, kSystem.
struct Level {
  enum class Kind { kSystem, kResource, kEntityDefault, kEntity };
  Kind kind = Kind::kSystem;
  std::string entity;    ///< of kEntityDefault and kEntity
  std::string resource;  ///< of kResource and kEntity

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

/// "system", "resource gpt-4", "entity acme", "entity acme, resource gpt-4".
std::string Describe(const Level& level);

/// What is set at one level: limits, but at the system level on_unavailable alone will do.
struct LevelLimits {
  std::vector<Limit> limits;
  std::optional<OnUnavailable> on_unavailable;  ///< of the system level only
  bool managed = false;  ///< set by a limits file, which may therefore remove it again

  friend bool operator==(const LevelLimits&, const LevelLimits&) = default;
};

struct LevelRecord {
  Level level;
  LevelLimits limits;

  friend bool operator==(const LevelRecord&, const LevelRecord&) = default;
};

/// Which levels to list.
struct LevelFilter {
  std::optional<Level::Kind> kind{};
  std::optional<std::string> entity{};  ///< its default and its levels for resources

  bool Matches(const Level& level) const {
    return (!kind || level.kind == *kind) && (!entity || level.entity == *entity);
  }
};

struct EntityRecord {
  Entity entity;
  bool managed = false;  ///< as LevelLimits::managed

  friend bool operator==(const EntityRecord&, const EntityRecord&) = default;
};

struct PutLimits {
  Level level;
  LevelLimits limits;
};
/// kNotFound if nothing is set there.
struct DeleteLimits {
  Level level;
};
/// kAlreadyExists if there is one with this id.
struct CreateEntity {
  EntityRecord record;
};
/// Creates or replaces; where it replaces, created_at stays.
struct PutEntity {
  EntityRecord record;
};
/// The entity, its limits and its buckets; children stay and name a parent that is gone.
/// kNotFound if there is none of these three.
struct DeleteEntity {
  std::string id;
};
using ConfigChange = std::variant<PutLimits, DeleteLimits, CreateEntity, PutEntity, DeleteEntity>;

/// The level or the entity that it changes, as above.
std::string Describe(const ConfigChange& change);
/// What a change must be wherever it is made: kInvalidArgument, naming it, unless identifiers,
/// texts (weir/model/entity.h) and limits are valid, something is set, and on_unavailable only at
/// the system level.
[[nodiscard]] Status Check(const ConfigChange& change);

/// As BucketStore in threads, lifetimes and errors. The store holds every change to Check, and
/// refuses chains of parents that end in themselves once all is done (kFailedPrecondition).
class ConfigStore {
 public:
  virtual ~ConfigStore() = default;

  /// In the order of `levels`; nothing where nothing is set.
  virtual void GetLimits(std::span<const Level> levels, Deadline deadline,
                         Done<std::vector<std::optional<LevelLimits>>> done) = 0;
  /// The levels that match and where something is set, in order. Those of one entity are found
  /// without a look at others.
  virtual void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline deadline,
                          Done<Page<LevelRecord>> done) = 0;

  virtual void GetEntities(std::span<const std::string> ids, Deadline deadline,
                           Done<std::vector<std::optional<EntityRecord>>> done) = 0;
  /// All entities in order of their ids, or the children of one.
  virtual void ListEntities(const std::optional<std::string>& parent, const PageRequest& page,
                            Deadline deadline, Done<Page<EntityRecord>> done) = 0;

  /// All changes in order, or none; the error names the change that could not be made. A store
  /// whose transactions are bounded may make a longer list in parts, in order, and then says in the
  /// error how many changes are made; the buckets of an entity that is deleted may go after the
  /// rest.
  virtual void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) = 0;
};

}  // namespace weir
