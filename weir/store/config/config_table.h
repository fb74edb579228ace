// Limits and entities in the memory of one process: the configuration of the backends in memory and
// in a file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/store/config/config_store.h"

namespace weir {

/// Follows the rules of ConfigStore. A value; not thread-safe: its owner locks.
class ConfigTable {
 public:
  /// Returns true if an entity has buckets, which this table does not know.
  using HasBuckets = std::function<bool(const std::string& entity)>;

  [[nodiscard]] std::optional<LevelLimits> GetLimits(const Level& level) const;
  /// Returns GetLimits of each level. Returns kDataLoss if one of them is unreadable: without its
  /// limits, looser ones of the next level would apply.
  [[nodiscard]] Result<std::vector<std::optional<LevelLimits>>> ReadLimits(
      std::span<const Level> levels) const;
  /// Records that the stored limits of the level cannot be read. The level stays unreadable until
  /// its limits are set or deleted; listings leave it out.
  void MarkUnreadable(const Level& level) { unreadable_.insert(level); }
  /// Records that the stored entry of the entity cannot be used, so it is not known whether its
  /// requests are charged to a parent. The entity stays unreadable until it is created again or
  /// deleted; listings leave it out. REQUIRES: it is not in the table.
  void MarkUnreadable(const std::string& entity) { unreadable_entities_.insert(entity); }
  [[nodiscard]] Result<Page<LevelRecord>> ListLimits(const LevelFilter& filter,
                                                     const PageRequest& page) const;
  [[nodiscard]] std::optional<EntityRecord> GetEntity(const std::string& id) const;
  /// Returns GetEntity of each id. Returns kDataLoss if one of them is unreadable: without its
  /// parent, the limits of the parent would not apply.
  [[nodiscard]] Result<std::vector<std::optional<EntityRecord>>> ReadEntities(
      std::span<const std::string> ids) const;
  [[nodiscard]] Result<Page<EntityRecord>> ListEntities(const std::optional<std::string>& parent,
                                                        const PageRequest& page) const;

  /// Makes all changes in order, or none; the error names the change that failed. The time depends
  /// on the number of changes, not on the size of the table. `has_buckets` is called, during the
  /// call only, for an entity that is to be deleted and has no entry and no limits (if it is not
  /// set, no entity has buckets). The owner must erase the buckets of deleted entities.
  [[nodiscard]] Status Apply(std::span<const ConfigChange> changes,
                             const HasBuckets& has_buckets = {});

 private:
  friend class ConfigTransaction;

  Result<Page<EntityRecord>> ListAll(const PageRequest& page) const;
  Result<Page<EntityRecord>> ListChildren(const std::string& parent, const PageRequest& page) const;
  /// Returns the levels at which limits of this entity are set or unreadable.
  std::vector<Level> LevelsOf(const std::string& entity) const;
  /// Sets or, without a value, removes an item; returns the old one.
  std::optional<LevelLimits> Exchange(const Level& level, std::optional<LevelLimits> value);
  std::optional<EntityRecord> Exchange(const std::string& id, std::optional<EntityRecord> value);

  std::map<Level, LevelLimits> limits_;
  std::set<Level> unreadable_;
  std::set<std::string> unreadable_entities_;
  std::map<std::string, EntityRecord> entities_;
  std::set<std::pair<std::string, std::string>> children_;  ///< (parent, child)
};

}  // namespace weir
