// The limits of a namespace, declared in one YAML file
// (reference/zae-limiter.md 4.11, extended by `parent` and `cascade`). Format: docs/limits-file.md.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/model/limit.h"

namespace weir {

/// What acquire does when the store cannot answer.
enum class OnUnavailable { kBlock, kAllow };

struct EntityDeclaration {
  std::optional<std::string> parent;
  bool cascade = false;
  /// By resource; kDefaultResource stands for all others.
  std::map<std::string, std::vector<Limit>> resources;

  friend bool operator==(const EntityDeclaration&, const EntityDeclaration&) = default;
};

struct LimitsFile {
  std::string namespace_name;
  std::optional<OnUnavailable> on_unavailable;
  std::vector<Limit> system;  ///< empty: no system limits are declared
  std::map<std::string, std::vector<Limit>> resources;
  std::map<std::string, EntityDeclaration> entities;

  friend bool operator==(const LimitsFile&, const LimitsFile&) = default;
};

/// Reads a manifest. Unknown keys, duplicate keys, non-positive numbers, reserved and bad names,
/// unknown units and cycles of parents are refused with `file_name:line: what; what would be right`.
/// Entities that are named only as a parent need no entry of their own.
[[nodiscard]] Result<LimitsFile> ParseLimitsFile(std::string_view text, std::string_view file_name);

/// YAML that ParseLimitsFile reads back as `file`, keys in order.
std::string FormatLimitsFile(const LimitsFile& file);

}  // namespace weir
