// What an operator wants to know of the commits of a file, as events of the log.
#pragma once

#include <cstdint>
#include <string>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir {

/// A commit that failed: "commit.failed", an error, with file, message, and failures, how many
/// have failed since one succeeded; the first, and then one in 10 s. The next that succeeds:
/// "commit.recovered", info, with file and failures. One that took more than a second:
/// "commit.slow", a warning, with file, took_ms and suppressed; one in 10 s. Not thread-safe. The
/// log must outlive it.
class CommitEvents {
 public:
  CommitEvents(Log& log, std::string file) : log_(log), file_(std::move(file)) {}

  void Committed(const Status& status, nanoseconds took, Instant now);

 private:
  void Failed(const Error& error, Instant now);
  void Recovered();
  void Slow(nanoseconds took, Instant now);

  Log& log_;
  const std::string file_;
  std::int64_t failures_ = 0;  // since the last that succeeded
  Instant next_failure_{INT64_MIN};
  RepeatedEvent slow_{std::chrono::seconds(10)};
};

}  // namespace weir
