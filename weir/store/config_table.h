// Limits and entities in the memory of one process: the configuration of the backends in memory and
// in a file.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/store/config_store.h"

namespace weir {

/// A value with the rules of ConfigStore; not thread-safe: its owner locks. A change is made on a
/// copy or checked first, so that all of a list applies or nothing does.
class ConfigTable {
 public:
  [[nodiscard]] std::optional<LevelLimits> GetLimits(const Level& level) const;
  [[nodiscard]] Result<Page<LevelRecord>> ListLimits(std::optional<Level::Kind> kind,
                                                     const PageRequest& page) const;
  [[nodiscard]] std::optional<EntityRecord> GetEntity(const std::string& id) const;
  [[nodiscard]] Result<Page<EntityRecord>> ListEntities(const std::optional<std::string>& parent,
                                                        const PageRequest& page) const;

  /// All changes in order, or none; the error names the change that could not be made.
  [[nodiscard]] Status Apply(std::span<const ConfigChange> changes);

 private:
  std::map<Level, LevelLimits> limits_;
  std::map<std::string, EntityRecord> entities_;
  std::set<std::pair<std::string, std::string>> children_;  ///< (parent, child)
};

}  // namespace weir
