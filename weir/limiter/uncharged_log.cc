#include "weir/limiter/uncharged_log.h"

#include <array>
#include <cstdint>
#include <optional>

namespace weir {

RepeatedEvent& UnchargedLog::EventOf(Code cause) {
  return cause == Code::kDeadlineExceeded ? late_ : away_;
}

void UnchargedLog::LogAdmission(std::string_view entity, std::string_view resource,
                                const Error& cause) {
  if (!log_.IsEnabled(LogLevel::kWarning)) return;
  const std::optional<std::int64_t> suppressed = EventOf(cause.code).ShouldWrite(clock_.Now());
  if (!suppressed) return;
  const std::array<LogField, 5> fields{{{"entity", entity},
                                        {"resource", resource},
                                        {"cause", CodeName(cause.code)},
                                        {"message", std::string_view(cause.message)},
                                        {"suppressed", *suppressed}}};
  log_.Write(LogLevel::kWarning, "limiter.admitted_without_charge", fields);
}

}  // namespace weir
