// Reading a store to the end, page by page.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weir/store/backend.h"

namespace weir::app {

/// What is declared in a store: the limits of each level, and the entities.
struct Declared {
  std::map<Level, LevelLimits> levels;
  std::map<std::string, EntityRecord> entities;
};

/// Where a listing puts what it cannot read (Page::unreadable), each line once. Null: the first one
/// is an error.
using LeftOut = std::vector<std::string>*;

[[nodiscard]] Result<Declared> ReadDeclared(ConfigStore& store, Deadline deadline,
                                            LeftOut left_out = nullptr);

/// Each of these reads every page. Blocks.
[[nodiscard]] Result<std::vector<LevelRecord>> ListLevels(ConfigStore& store,
                                                          std::optional<Level::Kind> kind,
                                                          Deadline deadline,
                                                          LeftOut left_out = nullptr);
[[nodiscard]] Result<std::vector<EntityRecord>> ListEntities(
    ConfigStore& store, const std::optional<std::string>& parent, Deadline deadline,
    LeftOut left_out = nullptr);
/// In order of their keys.
[[nodiscard]] Result<std::vector<BucketRecord>> ListBuckets(BucketStore& store,
                                                            const BucketFilter& filter,
                                                            Deadline deadline,
                                                            LeftOut left_out = nullptr);

/// What is set at one level; nothing where nothing is.
[[nodiscard]] Result<std::optional<LevelLimits>> GetLevel(ConfigStore& store, const Level& level,
                                                          Deadline deadline);
[[nodiscard]] Result<std::optional<EntityRecord>> GetEntity(ConfigStore& store,
                                                            const std::string& id,
                                                            Deadline deadline);
[[nodiscard]] Status ApplyChanges(ConfigStore& store, std::vector<ConfigChange> changes,
                                  Deadline deadline);

}  // namespace weir::app
