// The rules for the names of entities, resources, limits and namespaces. The names are keys of a
// table that may be shared with zae-limiter, so the rules are those of zae-limiter
// (github.com/zeroae/zae-limiter at commit ced59de: identifier validation).
#pragma once

#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// The resource name that means "all resources of this entity" in the limits of an entity.
inline constexpr std::string_view kDefaultResource = "_default_";

/// Each function returns kInvalidArgument with the name, the position of the first bad character,
/// and the rule. An entity id: a letter or digit, then letters, digits and `_.-:@`; 1 to 256 bytes.
[[nodiscard]] Status CheckEntityId(std::string_view id);
/// An author of changes that is not an ARN (see CheckPrincipal): as an entity id.
[[nodiscard]] Status CheckAuthor(std::string_view author);
/// A resource: a letter, then letters, digits and `_.-/:`; 1 to 64 bytes. `_default_` is refused.
[[nodiscard]] Status CheckResource(std::string_view resource);
/// A limit: a letter, then letters, digits and `_.-`; 1 to 64 bytes; not the reserved `wcu`.
[[nodiscard]] Status CheckLimitName(std::string_view name);
/// A namespace: a letter or digit, then letters, digits and `_.-`; 1 to 64 bytes; not the reserved
/// `_`.
[[nodiscard]] Status CheckNamespace(std::string_view name);

}  // namespace weir
