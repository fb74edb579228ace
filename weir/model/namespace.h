// An isolated tenant of a table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/time.h"

namespace weir {

enum class NamespaceStatus {
  kActive,
  kDeleted,  ///< its name is free again; its data are kept and can be recovered
  kPurging,  ///< its data are being deleted for good
};

/// As stores and people write it: "active", "deleted", "purging".
std::string_view Name(NamespaceStatus status);

struct Namespace {
  std::string id;  ///< opaque; in the keys of all its data
  std::string name;
  NamespaceStatus status = NamespaceStatus::kActive;
  UnixMillis created_at;
  std::optional<UnixMillis> deleted_at;  ///< may be unknown even where it is deleted

  friend bool operator==(const Namespace&, const Namespace&) = default;
};

}  // namespace weir
