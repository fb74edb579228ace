// Log events as lines of text, for standard error.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/telemetry/log.h"

namespace weir::app {

enum class LogFormat {
  kText,  ///< 2026-11-22T22:15:00.123Z warning commit.failed file=a.db cause="disk full"
  kJson,  ///< the same as one JSON object: "time", "level", "event", then the fields
};

struct LogOptions {
  /// Events below this level are dropped; nothing: all of them are.
  std::optional<LogLevel> lowest = LogLevel::kWarning;
  LogFormat format = LogFormat::kText;
};

/// Writes each event as one line. `out` and `clock`, which stamps the lines, must outlive the log.
/// Bytes that are no UTF-8 are replaced and control characters are escaped, so that an event is one
/// line whatever its fields hold.
std::unique_ptr<Log> MakeLog(std::ostream& out, const Clock& clock, LogOptions options);

/// "debug", "info", "warning", "error" or "off". kInvalidArgument names these.
[[nodiscard]] Result<std::optional<LogLevel>> ParseLogLevel(std::string_view text);

/// "text" or "json". kInvalidArgument names these.
[[nodiscard]] Result<LogFormat> ParseLogFormat(std::string_view text);

}  // namespace weir::app
