// Converts the details of audit events, and counters by name, to JSON and back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/model/audit_event.h"

namespace weir {

/// Returns the JSON object of `parts`.
std::string ToText(const AuditDetail::Parts& parts);
/// Parses such a JSON object. Returns false if the text is not an object, or has numbers that are
/// not whole.
[[nodiscard]] bool ReadParts(std::string_view text, AuditDetail::Parts& parts);

using CountersByName = std::map<std::string, std::int64_t, std::less<>>;
/// Returns the JSON object of `counters`; ReadCounters reads it.
std::string ToText(const CountersByName& counters);
[[nodiscard]] bool ReadCounters(std::string_view text, CountersByName& counters);

}  // namespace weir
