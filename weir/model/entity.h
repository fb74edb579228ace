// Who is limited.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// Longest chain of charges of one cascade: the entity itself, its parent, and so on.
inline constexpr std::size_t kMaxCascade = 8;

struct Entity {
  std::string id;
  std::string name;                   ///< for people; the id where none was given
  std::optional<std::string> parent;  ///< id of another entity, which need not exist yet
  bool cascade = false;               ///< requests charge the parent too, all or none
  std::map<std::string, std::string> metadata;
  UnixMillis created_at;

  friend bool operator==(const Entity&, const Entity&) = default;
};

/// Longest name, metadata key and metadata value, and of keys and values together, in bytes.
inline constexpr std::size_t kLongestEntityName = 256;
inline constexpr std::size_t kLongestMetadataKey = 256;
inline constexpr std::size_t kLongestMetadataValue = 16'384;
inline constexpr std::size_t kLongestMetadata = 65'536;

/// Each is kInvalidArgument, naming the entity, unless the text is as stored_text.h says and within
/// the bounds above. A name may be empty; a metadata value may be empty and have several lines.
[[nodiscard]] Status CheckEntityName(const Entity& entity);
[[nodiscard]] Status CheckMetadata(const Entity& entity);
/// The id, the parent's id, the name and the metadata.
[[nodiscard]] Status Check(const Entity& entity);

}  // namespace weir
