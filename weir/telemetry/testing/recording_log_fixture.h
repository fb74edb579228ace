// A log that stores its events, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/telemetry/log.h"

namespace weir {

/// Thread-safe. Each event becomes a line of the level, the event's name and its fields: "warning
/// commit.failed failures=1". Texts are written unquoted, booleans as "true" and "false".
class RecordingLog final : public Log {
 public:
  bool IsEnabled(LogLevel level) const override {
    static_cast<void>(level);
    return true;
  }
  void Write(LogLevel level, std::string_view event, std::span<const LogField> fields) override {
    std::string line(NameOf(level));
    line.append(" ").append(event);
    for (const LogField& field : fields)
      line.append(" ").append(field.name).append("=") += TextOf(field);
    const MutexLock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::vector<std::string> lines() const {
    const MutexLock lock(mutex_);
    return lines_;
  }

 private:
  static std::string TextOf(const LogField& field) {
    if (const auto* text = std::get_if<std::string_view>(&field.value)) return std::string(*text);
    if (const auto* truth = std::get_if<bool>(&field.value)) return *truth ? "true" : "false";
    if (const auto* number = std::get_if<double>(&field.value)) return std::to_string(*number);
    return std::to_string(std::get<std::int64_t>(field.value));
  }

  mutable Mutex mutex_;
  std::vector<std::string> lines_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
