// The limits of a namespace, declared in one YAML file. Format: docs/limits-file.md. It is that of
// zae-limiter's `limits apply` (github.com/zeroae/zae-limiter at commit ced59de: manifest.py of the
// provisioner), extended by `parent`, `cascade` and limits in short text.
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

/// Reads such a file of at most 16 MiB. Whatever it does not understand is refused: unknown and
/// duplicate keys, numbers that are not positive, reserved and bad names, cycles of parents,
/// cascades over more than kMaxCascade entities. The error is kInvalidArgument and one line,
/// `file_name:line: what; right would be ...`. An entity that is named only as a parent needs no
/// entry of its own. Limits keep the order of the file.
[[nodiscard]] Result<LimitsFile> ParseLimitsFile(std::string_view text, std::string_view file_name);

/// YAML that ParseLimitsFile reads back as `file`: the same bytes for equal values; resources and
/// entities by name. Where all numbers are whole, zae-limiter reads it too. REQUIRES: `file` is
/// such as ParseLimitsFile returns; in particular, no list of limits but `system` is empty.
std::string FormatLimitsFile(const LimitsFile& file);

}  // namespace weir
