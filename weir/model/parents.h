// Who is whose parent, as a whole: no cycles, no cascade over too many.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

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

/// The line, from 1, at which a limits file names the parent of `entity`; 0 if it names none.
/// REQUIRES: ParseLimitsFile reads `text`.
int LineOfParent(std::string_view text, std::string_view entity);

}  // namespace weir
