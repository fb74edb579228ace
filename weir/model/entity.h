// Who is limited.
#pragma once

#include <map>
#include <optional>
#include <string>

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

}  // namespace weir
