#include "weir/limiter/outdated_log.h"

#include <array>
#include <cstdint>
#include <optional>

namespace weir {

void OutdatedLog::LogRenewed(const BucketKey& bucket, bool changed) {
  if (!log_.IsEnabled(LogLevel::kInfo)) return;
  const std::optional<std::int64_t> suppressed = event_.ShouldWrite(clock_.Now());
  if (!suppressed) return;
  const std::array<LogField, 4> fields{{{"entity", std::string_view(bucket.entity)},
                                        {"resource", std::string_view(bucket.resource)},
                                        {"changed", changed},
                                        {"suppressed", *suppressed}}};
  log_.Write(LogLevel::kInfo, "limiter.limits_outdated", fields);
}

}  // namespace weir
