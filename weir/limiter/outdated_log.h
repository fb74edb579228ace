// The log event of outdated limits.
#pragma once

#include <string_view>

#include "weir/base/time.h"
#include "weir/store/bucket/charge.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir {

/// Writes "limiter.limits_outdated" with the fields entity, resource, changed (true if the limits
/// differ from those of the request; if false, another process had stored old limits in the
/// bucket), and suppressed, the number of events omitted since the last one. Writes at most one
/// event a second. Thread-safe.
class OutdatedLog {
 public:
  /// The log and the clock must outlive it.
  OutdatedLog(Log& log, const Clock& clock) : log_(log), clock_(clock) {}

  void LogRenewed(const BucketKey& bucket, bool changed);

 private:
  Log& log_;
  const Clock& clock_;
  RepeatedEvent event_{milliseconds(1000)};
};

}  // namespace weir
