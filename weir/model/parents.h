// Checks of the parents of all entities together: no cycles, no cascade over too many entities.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weir/model/limits_file.h"

namespace weir {

struct ParentFault {
  std::string entity;   ///< the entity whose declaration must be changed
  std::string message;  ///< names the cycle or the chain, and says what would be right
};

/// Returns the first fault by entity id: a cycle of parents, with or without `cascade`; or, if
/// there is no cycle, an entity whose requests would charge more than kMaxCascade entities. Takes
/// time linear in the number of entities.
std::optional<ParentFault> FindParentFault(
    const std::map<std::string, EntityDeclaration>& entities);

/// Returns the line, from 1, on which a limits file names the parent of `entity`; 0 if the file
/// names no parent. REQUIRES: ParseLimitsFile accepts `text`.
int LineOfParent(std::string_view text, std::string_view entity);

}  // namespace weir
