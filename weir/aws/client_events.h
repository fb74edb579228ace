// Log events for operators about the calls on a service.
#pragma once

#include <string>
#include <string_view>

#include "weir/aws/failure.h"
#include "weir/base/time.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir {

/// Thread-safe. The log must outlive this object.
class ClientEvents {
 public:
  /// `host` is a field of each event.
  ClientEvents(Log& log, std::string host) : log_(log), host_(std::move(host)) {}

  /// Writes "aws.throttled", a warning: host, operation, code, message, suppressed. At most one in
  /// 10 s; `suppressed` counts the events that were not written since the last written one.
  void Throttled(std::string_view operation, const AwsFailure& failure, Instant now);
  /// Writes "clock.service_time_stepped", a warning: host, by_ms. The service's time, by which
  /// buckets refill, has jumped by this duration.
  void TimeStepped(milliseconds by);

 private:
  Log& log_;
  const std::string host_;
  RepeatedEvent throttled_{std::chrono::seconds(10)};
};

}  // namespace weir
