// A namespace: an isolated tenant of a table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/api.h"
#include "weir/base/time.h"

namespace weir {

enum class NamespaceStatus {
  kActive,
  kDeleted,  ///< its name is free again; its data is kept and can be recovered
  kPurging,  ///< its data is being deleted permanently
};

/// Returns the text that stores and users see: "active", "deleted", "purging".
WEIR_API std::string_view Name(NamespaceStatus status);

struct Namespace {
  std::string id;  ///< opaque; part of the keys of all data of the namespace
  std::string name;
  NamespaceStatus status = NamespaceStatus::kActive;
  UnixMillis created_at;
  std::optional<UnixMillis> deleted_at;  ///< may be unknown even if it is deleted

  friend bool operator==(const Namespace&, const Namespace&) = default;
};

}  // namespace weir
