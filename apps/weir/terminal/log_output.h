// Log events as lines of text for standard error.
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
  /// Events below this level are dropped; nothing: all events are.
  std::optional<LogLevel> lowest = LogLevel::kWarning;
  LogFormat format = LogFormat::kText;
};

/// Writes each event as one line. `out`, and `clock`, which gives the time of each line, must
/// outlive the log. Bytes that are not UTF-8 are replaced and control characters are escaped: an
/// event is one line whatever its fields contain.
std::unique_ptr<Log> MakeLog(std::ostream& out, const Clock& clock, LogOptions options);

/// Parses "debug", "info", "warning", "error" or "off". kInvalidArgument lists these.
[[nodiscard]] Result<std::optional<LogLevel>> ParseLogLevel(std::string_view text);

/// Parses "text" or "json". kInvalidArgument lists these.
[[nodiscard]] Result<LogFormat> ParseLogFormat(std::string_view text);

}  // namespace weir::app
