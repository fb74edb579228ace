// The log event of a request that was admitted although no charge is known: the store was
// unavailable, or so late that it may have charged the request (Outcome::unprotected).
#pragma once

#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir {

/// Writes the warning "limiter.admitted_without_charge" with the fields entity, resource, cause
/// (the code of the error), message, and suppressed, the number of events with this cause omitted
/// since the last one. Writes at most one event a second for each cause. Thread-safe.
class UnchargedLog {
 public:
  /// The log and the clock must outlive it.
  UnchargedLog(Log& log, const Clock& clock) : log_(log), clock_(clock) {}

  void LogAdmission(std::string_view entity, std::string_view resource, const Error& cause);

 private:
  static constexpr nanoseconds kInterval = milliseconds(1000);

  RepeatedEvent& EventOf(Code cause);

  Log& log_;
  const Clock& clock_;
  RepeatedEvent late_{kInterval};
  RepeatedEvent away_{kInterval};  ///< all other causes
};

}  // namespace weir
