// Who is whose parent, as a whole: no cycles, no cascade over too many.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "weir/model/limits_file.h"

namespace weir {

struct ParentFault {
  std::string entity;   ///< its declaration is to be mended
  std::string message;  ///< names the cycle or the chain, and what would be right
};

/// The first fault, by entity id: a cycle of parents, whether they cascade or not; or an entity
/// whose requests would charge more than kMaxCascade entities. Linear in their number.
std::optional<ParentFault> FindParentFault(
    const std::map<std::string, EntityDeclaration>& entities);

}  // namespace weir
