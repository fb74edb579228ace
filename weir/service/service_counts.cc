#include "weir/service/service_counts.h"

#include <array>

namespace weir::service {

void UndecidedLog::Write(std::string_view rule, std::string_view message, Instant now) {
  const auto suppressed = events_.ShouldWrite(now);
  if (!suppressed) return;
  const std::array fields = {LogField{"rule", rule}, LogField{"message", message},
                             LogField{"suppressed", *suppressed}};
  log_.Write(LogLevel::kWarning, "service.undecided", fields);
}

}  // namespace weir::service
