// The limits of a namespace, declared in one YAML file. Format: docs/limits-file.md. It is the
// format of zae-limiter's `limits apply` (github.com/zeroae/zae-limiter at commit ced59de:
// manifest.py of the provisioner), extended by `parent`, `cascade` and limits in short text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/model/limit.h"

namespace weir {

/// The policy of Acquire if the store is unavailable.
enum class OnUnavailable { kBlock, kAllow };

struct EntityDeclaration {
  std::optional<std::string> parent;
  bool cascade = false;
  /// By resource; kDefaultResource applies to all resources that are not listed.
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

/// Parses a limits file of at most 16 MiB. The function rejects everything that it does not
/// understand: unknown and duplicate keys, negative numbers, zeros other than a rate of 0, reserved
/// and invalid names, cycles of parents, and cascades over more than kMaxCascade entities. Errors
/// are kInvalidArgument with a message of one line, `file_name:line: what; expected ...`. An
/// entity that is only named as a parent needs no entry of its own. Limits keep the order of the
/// file.
[[nodiscard]] WEIR_API Result<LimitsFile> ParseLimitsFile(std::string_view text,
                                                          std::string_view file_name);

}  // namespace weir
