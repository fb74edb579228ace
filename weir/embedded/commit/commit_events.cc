#include "weir/embedded/commit/commit_events.h"

#include <array>
#include <chrono>
#include <optional>

namespace weir {
namespace {

constexpr nanoseconds kSlow = std::chrono::seconds(1);
constexpr nanoseconds kBetweenFailures = std::chrono::seconds(10);

}  // namespace

void CommitEvents::Committed(const Status& status, nanoseconds took, Instant now) {
  if (!status) {
    Failed(status.error(), now);
  } else if (failures_ > 0) {
    Recovered();
  }
  if (took > kSlow) Slow(took, now);
}

void CommitEvents::Failed(const Error& error, Instant now) {
  if (++failures_ > 1 && now < next_failure_) return;
  next_failure_ = now + kBetweenFailures;
  const std::array<LogField, 3> fields = {LogField{"file", std::string_view(file_)},
                                          {"message", std::string_view(error.message)},
                                          {"failures", failures_}};
  log_.Write(LogLevel::kError, "commit.failed", fields);
}

void CommitEvents::Recovered() {
  const std::array<LogField, 2> fields = {LogField{"file", std::string_view(file_)},
                                          {"failures", failures_}};
  failures_ = 0;
  log_.Write(LogLevel::kInfo, "commit.recovered", fields);
}

void CommitEvents::Slow(nanoseconds took, Instant now) {
  const std::optional<std::int64_t> suppressed = slow_.ShouldWrite(now);
  if (!suppressed) return;
  const std::int64_t took_ms = std::chrono::floor<milliseconds>(took).count();
  const std::array<LogField, 3> fields = {
      LogField{"file", std::string_view(file_)}, {"took_ms", took_ms}, {"suppressed", *suppressed}};
  log_.Write(LogLevel::kWarning, "commit.slow", fields);
}

}  // namespace weir
