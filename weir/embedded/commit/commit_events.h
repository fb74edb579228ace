// The events of a file's commits, for operators.
#pragma once

#include <cstdint>
#include <string>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir {

/// Writes log events about the commits of a file. Here a commit is a whole run of the committer,
/// with its jobs, folds and checkpoints.
///
/// - "commit.failed", an error: file, message, and failures, the number of failed commits since the
///   last success. Written for the first failure, and then at most once in 10 s.
/// - "commit.recovered", info: file and failures. Written for the first success after failures.
/// - "commit.slow", a warning: file, took_ms and suppressed. Written for a commit that took more
///   than a second, at most once in 10 s.
///
/// Not thread-safe. The log must outlive it.
class CommitEvents {
 public:
  CommitEvents(Log& log, std::string file) : log_(log), file_(std::move(file)) {}

  /// Notes a commit that ended at `now`.
  void Committed(const Status& status, nanoseconds took, Instant now);

 private:
  void Failed(const Error& error, Instant now);
  void Recovered();
  void Slow(nanoseconds took, Instant now);

  Log& log_;
  const std::string file_;
  std::int64_t failures_ = 0;  // since the last success
  Instant next_failure_{INT64_MIN};
  RepeatedEvent slow_{std::chrono::seconds(10)};
};

}  // namespace weir
