// Reading a store to the end, page by page.
#pragma once

#include <functional>
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

/// The deadline of the next request. Each page of a listing has its own, so that a listing may take
/// as long as its number of pages needs.
using NextDeadline = std::function<Deadline()>;

[[nodiscard]] Result<Declared> ReadDeclared(ConfigStore& store, const NextDeadline& deadline,
                                            LeftOut left_out = nullptr);

/// Each of these reads every page. Blocks.
[[nodiscard]] Result<std::vector<LevelRecord>> ListLevels(ConfigStore& store,
                                                          const LevelFilter& filter,
                                                          const NextDeadline& deadline,
                                                          LeftOut left_out = nullptr);
[[nodiscard]] Result<std::vector<EntityRecord>> ListEntities(
    ConfigStore& store, const std::optional<std::string>& parent, const NextDeadline& deadline,
    LeftOut left_out = nullptr);
/// In order of their keys.
[[nodiscard]] Result<std::vector<BucketRecord>> ListBuckets(BucketStore& store,
                                                            const BucketFilter& filter,
                                                            const NextDeadline& deadline,
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
