// References to a namespace by users: its name, or `id:` and its id.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// The namespace that is used if a URL or an option names none. In a table, this name is a
/// convention of zae-limiter; in a file, it means the file itself and is not registered.
inline constexpr char kDefaultNamespace[] = "default";

/// Returns kInvalidArgument unless `id` has 1 to 64 letters, digits, '_' and '-', and is not `_`,
/// which is reserved for the table itself. (zae-limiter's clients that are constructed directly use
/// the literal id `default`.)
[[nodiscard]] Status CheckNamespaceId(std::string_view id);

/// Returns ID if the text is `id:ID`, without a check of ID; nothing if the text is a name.
std::optional<std::string_view> ParseIdReference(std::string_view name_or_id);

/// Returns kInvalidArgument unless CheckNamespace accepts the name, or CheckNamespaceId the id.
[[nodiscard]] Status CheckNameOrId(std::string_view name_or_id);

/// Formats 8 bytes as 11 characters of URL-safe base64 without padding (RFC 4648, section 5).
std::string FormatNamespaceId(std::uint64_t bytes);
/// Returns a new random id. It does not begin with '-', because a command line would take that for
/// an option. `draw` returns 64 random bits at each call.
std::string NewNamespaceId(const std::function<std::uint64_t()>& draw);

}  // namespace weir
