// Reads a store to the end, page by page.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weir/store/backend.h"

namespace weir::app {

/// The declared records of a store: the limits of each level, and the entities.
struct Declared {
  std::map<Level, LevelLimits> levels;
  std::map<std::string, EntityRecord> entities;
};

/// The list that a listing adds unreadable records (Page::unreadable) to, one line each. Null: the
/// first unreadable record is an error.
using LeftOut = std::vector<std::string>*;

/// Returns the deadline of the next request. Each page has its own, so a listing may take any
/// number of pages.
using NextDeadline = std::function<Deadline()>;

[[nodiscard]] Result<Declared> ReadDeclared(ConfigStore& store, const NextDeadline& deadline,
                                            LeftOut left_out = nullptr);

/// ListLevels, ListEntities and ListBuckets read every page. They block.
[[nodiscard]] Result<std::vector<LevelRecord>> ListLevels(ConfigStore& store,
                                                          const LevelFilter& filter,
                                                          const NextDeadline& deadline,
                                                          LeftOut left_out = nullptr);
[[nodiscard]] Result<std::vector<EntityRecord>> ListEntities(
    ConfigStore& store, const std::optional<std::string>& parent, const NextDeadline& deadline,
    LeftOut left_out = nullptr);
/// Returns the buckets in the order of their keys.
[[nodiscard]] Result<std::vector<BucketRecord>> ListBuckets(BucketStore& store,
                                                            const BucketFilter& filter,
                                                            const NextDeadline& deadline,
                                                            LeftOut left_out = nullptr);

/// Returns the limits of one level, or nothing if none are set. Blocks, as the following do.
[[nodiscard]] Result<std::optional<LevelLimits>> GetLevel(ConfigStore& store, const Level& level,
                                                          Deadline deadline);
[[nodiscard]] Result<std::optional<EntityRecord>> GetEntity(ConfigStore& store,
                                                            const std::string& id,
                                                            Deadline deadline);
[[nodiscard]] Status ApplyChanges(ConfigStore& store, std::vector<ConfigChange> changes,
                                  Deadline deadline);

}  // namespace weir::app
