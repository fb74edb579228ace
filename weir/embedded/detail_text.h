// What audit events tell, and counters by name, as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/model/audit_event.h"

namespace weir {

std::string ToText(const AuditDetail::Parts& parts);
/// False where the text is no such object.
[[nodiscard]] bool ReadParts(std::string_view text, AuditDetail::Parts& parts);

using CountersByName = std::map<std::string, std::int64_t, std::less<>>;
std::string ToText(const CountersByName& counters);
[[nodiscard]] bool ReadCounters(std::string_view text, CountersByName& counters);

}  // namespace weir
