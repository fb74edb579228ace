// The log event of limits that a bucket does not have any more.
#pragma once

#include <string_view>

#include "weir/base/time.h"
#include "weir/store/charge.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir {

/// Writes "limiter.limits_outdated": entity, resource, changed (whether other limits hold by now
/// than those that the request came with; if not, another process stored old ones in the bucket),
/// and suppressed, the number of events that were left out since the last one. At most one event a
/// second. Thread-safe.
class OutdatedLog {
 public:
  /// The log and the clock must outlive it.
  OutdatedLog(Log& log, const Clock& clock) : log_(log), clock_(clock) {}

  void Renewed(const BucketKey& bucket, bool changed);

 private:
  Log& log_;
  const Clock& clock_;
  RepeatedEvent event_{milliseconds(1000)};
};

}  // namespace weir
