// How a namespace is named by those who use it: by its name, or as `id:` and its id.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// kInvalidArgument unless it is 1 to 64 letters, digits, '_' and '-', and not the table's own `_`.
/// (zae-limiter's clients that are constructed directly use the literal id `default`.)
[[nodiscard]] Status CheckNamespaceId(std::string_view id);

/// The id in `id:ID`, unchecked; nothing where it is a name.
std::optional<std::string_view> IdIn(std::string_view name_or_id);

/// kInvalidArgument unless CheckNamespace or CheckNamespaceId holds.
[[nodiscard]] Status CheckNameOrId(std::string_view name_or_id);

/// 8 bytes as 11 characters of URL-safe base64 without padding (RFC 4648, section 5).
std::string FormatNamespaceId(std::uint64_t bytes);
/// One that does not begin with '-', which a command line would take for an option. `draw` gives 64
/// random bits at each call.
std::string NewNamespaceId(const std::function<std::uint64_t()>& draw);

}  // namespace weir
