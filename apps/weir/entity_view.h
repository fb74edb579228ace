// Entities in the form that `weir entity show` and `list` print.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/listing.h"

namespace weir::app {

/// One entity: its record, if it has one, and its own limits.
struct EntityView {
  std::string id;
  std::optional<EntityRecord> record;
  std::vector<LevelRecord> levels;
};

/// Returns all entities that have a record or limits, in the order of their ids.
std::vector<EntityView> ViewsOf(const Declared& declared);

/// Selects entities for a list. An empty text excludes no entity.
struct EntityListOptions {
  std::optional<std::string> parent;
  std::optional<std::string> limits_on{};  ///< only with limits on this resource, or "_default_"
  std::string prefix;                      ///< a prefix of the id or of the name
  std::string after;  ///< only ids greater than this one, in the order of bytes
  std::size_t count = std::numeric_limits<std::size_t>::max();
};

/// Returns the number of entities with limits on each resource; "_default_" stands for the
/// resources on which an entity has no other limits. Levels without an entity do not count.
std::map<std::string, std::size_t> EntitiesByResource(const std::vector<LevelRecord>& levels);

struct EntityPage {
  std::vector<EntityView> entities;
  std::string next;  ///< the `after` of the next page; empty on the last page
};

/// Returns the first `count` of `views` that the options select. REQUIRES: `views` are in the order
/// of their ids.
EntityPage PageOf(const std::vector<EntityView>& views, const EntityListOptions& options);

/// Returns the record's members (json.h) and "limits".
Json ToJson(const EntityView& view);
std::string TextOf(const EntityView& view);

/// Returns {"entities", "next"}; the last page has no "next".
Json ToJson(const EntityPage& page);
std::string TextOf(const EntityPage& page);

}  // namespace weir::app
