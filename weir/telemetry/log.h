// Log events: a level, a name and typed fields. Components write them; the program decides on their
// format and destination.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "weir/base/api.h"

namespace weir {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Returns the name of a level for texts: "debug", "info", "warning", "error".
WEIR_API std::string_view NameOf(LogLevel level);

/// One field of an event. The unit is part of the name ("wait_ms", "bytes"). The views must live
/// until Log::Write returns.
struct LogField {
  std::string_view name;
  std::variant<std::int64_t, double, bool, std::string_view> value;
};

/// Receives events. Implementations are thread-safe, do not call back into the component that
/// writes, and do not throw. A component keeps a reference, so the log must outlive it.
class WEIR_API Log {
 public:
  virtual ~Log() = default;
  /// Returns false if Write would do nothing, so that callers can skip building the fields.
  virtual bool IsEnabled(LogLevel level) const = 0;
  /// Writes one event. `event` is a constant that programs can match: the component and what
  /// happened, in lower case, for example "commit.failed".
  virtual void Write(LogLevel level, std::string_view event, std::span<const LogField> fields) = 0;
};

/// Returns a log that drops every event. Components use it until they get another log.
WEIR_API Log& NoLog();

}  // namespace weir
