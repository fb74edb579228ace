#include "weir/aws/client_events.h"

#include <array>
#include <optional>

namespace weir {

void ClientEvents::Throttled(std::string_view operation, const AwsFailure& failure, Instant now) {
  if (!log_.IsEnabled(LogLevel::kWarning)) return;
  const std::optional<std::int64_t> suppressed = throttled_.ShouldWrite(now);
  if (!suppressed) return;
  const std::string code = CodeOf(failure);
  const std::array<LogField, 5> fields = {LogField{"host", std::string_view(host_)},
                                          {"operation", operation},
                                          {"code", std::string_view(code)},
                                          {"message", std::string_view(failure.message)},
                                          {"suppressed", *suppressed}};
  log_.Write(LogLevel::kWarning, "aws.throttled", fields);
}

void ClientEvents::TimeStepped(milliseconds by) {
  const std::array<LogField, 2> fields = {LogField{"host", std::string_view(host_)},
                                          {"by_ms", std::int64_t{by.count()}}};
  log_.Write(LogLevel::kWarning, "clock.service_time_stepped", fields);
}

}  // namespace weir
