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
#include "weir/store/config_store.h"

namespace weir {

/// A value with the rules of ConfigStore; not thread-safe: its owner locks.
class ConfigTable {
 public:
  /// Whether an entity has buckets. This table knows of none.
  using HasBuckets = std::function<bool(const std::string& entity)>;

  [[nodiscard]] std::optional<LevelLimits> GetLimits(const Level& level) const;
  [[nodiscard]] Result<Page<LevelRecord>> ListLimits(const LevelFilter& filter,
                                                     const PageRequest& page) const;
  [[nodiscard]] std::optional<EntityRecord> GetEntity(const std::string& id) const;
  [[nodiscard]] Result<Page<EntityRecord>> ListEntities(const std::optional<std::string>& parent,
                                                        const PageRequest& page) const;

  /// All changes in order, or none; the error names the change that could not be made. Takes time
  /// by the number of changes, not by the size of the table. `has_buckets` is asked, during the
  /// call, about an entity that is to be deleted and has nothing else (unset: no); the buckets are
  /// the owner's to erase.
  [[nodiscard]] Status Apply(std::span<const ConfigChange> changes,
                             const HasBuckets& has_buckets = {});

 private:
  friend class ConfigTransaction;

  Result<Page<EntityRecord>> ListAll(const PageRequest& page) const;
  Result<Page<EntityRecord>> ListChildren(const std::string& parent, const PageRequest& page) const;
  /// Where limits of this entity are set.
  std::vector<Level> LevelsOf(const std::string& entity) const;
  /// Sets or, given nothing, removes; returns what was there.
  std::optional<LevelLimits> Exchange(const Level& level, std::optional<LevelLimits> value);
  std::optional<EntityRecord> Exchange(const std::string& id, std::optional<EntityRecord> value);

  std::map<Level, LevelLimits> limits_;
  std::map<std::string, EntityRecord> entities_;
  std::set<std::pair<std::string, std::string>> children_;  ///< (parent, child)
};

}  // namespace weir
