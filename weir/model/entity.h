// An entity: the party that limits apply to.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// The most entities that one request charges: the entity itself, its parent, and so on.
inline constexpr std::size_t kMaxCascade = 8;

struct Entity {
  std::string id;
  std::string name;                   ///< for display; the id if no name was given
  std::optional<std::string> parent;  ///< id of another entity, which need not exist yet
  bool cascade = false;  ///< requests charge the parent as well; all charges succeed or none
  std::map<std::string, std::string> metadata;
  UnixMillis created_at;

  friend bool operator==(const Entity&, const Entity&) = default;
};

/// Bounds in bytes: of a name, of a metadata key, of a metadata value, and of the sum of all
/// metadata keys and values.
inline constexpr std::size_t kLongestEntityName = 256;
inline constexpr std::size_t kLongestMetadataKey = 256;
inline constexpr std::size_t kLongestMetadataValue = 16'384;
inline constexpr std::size_t kLongestMetadata = 65'536;

/// Each returns kInvalidArgument with the id of the entity, unless the text satisfies stored_text.h
/// and the bounds above. A name may be empty; a metadata value may be empty and have several lines.
[[nodiscard]] WEIR_API Status CheckEntityName(const Entity& entity);
[[nodiscard]] WEIR_API Status CheckMetadata(const Entity& entity);
/// Checks the id, the parent's id, the name and the metadata.
[[nodiscard]] WEIR_API Status Check(const Entity& entity);

}  // namespace weir
