// Turns text of unknown origin into an id of an entity or resource. Grammar: docs/design/rules.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::rules {

enum class IdKind { kEntity, kResource };

/// Begins every escape sequence. An escaped text has this pair of bytes nowhere else.
inline constexpr std::string_view kEscape = ".:";
/// Replaces the values that share a bucket, in an id that a rule makes for itself.
inline constexpr std::string_view kAnyValue = ".:.";
/// Begins the entities that rules make for themselves; no template yields it.
inline constexpr std::string_view kOwnPrefix = "rule.:_";

/// Returns the largest number of bytes of an id: 256 or 64.
std::size_t LongestId(IdKind kind);
/// Returns whether an id of this kind may have this byte after the first one.
bool AllowsByte(IdKind kind, char byte);

/// Appends `value`. Each byte that ids of this kind cannot have, and each `separator`, becomes
/// `.:XX` (two upper-case hexadecimal digits). A '.' before ':' or at the end becomes `.:2E`, so
/// that the result has kEscape only where a sequence begins. Two values never become one text.
/// `separator` is 0 for none.
void AppendEscaped(std::string& out, IdKind kind, std::string_view value, char separator);

/// Makes an id of escaped text, which CheckEntityId or CheckResource accepts: text that cannot
/// begin an id gets `x.:_` before it. A text that is too long is cut and gets `.:-` and 32
/// hexadecimal digits, the first 128 bits of the SHA-256 of the whole text. Two texts become one id
/// only if these bits are equal. Throws std::bad_alloc if OpenSSL fails (see CheckHash).
std::string FinishId(IdKind kind, std::string text);

/// Returns kInternal if OpenSSL cannot compute SHA-256. If it can, later calls fail only if memory
/// is exhausted.
[[nodiscard]] Status CheckHash();

}  // namespace weir::rules
