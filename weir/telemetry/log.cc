#include "weir/telemetry/log.h"

namespace weir {
namespace {

class DroppingLog final : public Log {
 public:
  bool IsEnabled(LogLevel) const override { return false; }
  void Write(LogLevel, std::string_view, std::span<const LogField>) override {}
};

}  // namespace

std::string_view NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

Log& NoLog() {
  // The log has no state, so all components share one.
  static DroppingLog log;
  return log;
}

}  // namespace weir
