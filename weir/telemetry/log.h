// Log events: a level, a name, typed fields. Components write them; the program decides on their
// format and destination.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace weir {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// The name of a level as people write it: "debug", "info", "warning", "error".
std::string_view NameOf(LogLevel level);

/// One fact of an event. Units are part of the name ("wait_ms", "bytes"). The views must live until
/// Log::Write returns.
struct LogField {
  std::string_view name;
  std::variant<std::int64_t, double, bool, std::string_view> value;
};

/// Receives events. Implementations are thread-safe, do not call back into the component that
/// writes, and do not throw. A component keeps a reference; the log outlives it.
class Log {
 public:
  virtual ~Log() = default;
  /// False: Write would do nothing, so that the caller can skip the work of building fields.
  virtual bool IsEnabled(LogLevel level) const = 0;
  /// `event` is a constant that programs can match on: the component and what happened, in lower
  /// case, for example "commit.failed".
  virtual void Write(LogLevel level, std::string_view event, std::span<const LogField> fields) = 0;
};

/// Drops every event. What components use until they are given a log.
Log& NoLog();

}  // namespace weir
