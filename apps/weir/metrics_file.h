// A file with the metrics of a process that runs for long, for a collector that reads files (the
// text file collector of Prometheus' node exporter).
#pragma once

#include <string>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/registry.h"

namespace weir::app {

/// Not thread-safe. The registry, the clock and the log must outlive it.
class MetricsFile {
 public:
  static constexpr nanoseconds kInterval = std::chrono::seconds(10);

  /// `log` receives "metrics.file_failed" (warning: file, message). Without a path nothing is
  /// written.
  MetricsFile(std::string path, const Registry& registry, const Clock& clock, Log& log);

  /// Replaces the file atomically.
  [[nodiscard]] Status Write();
  /// Replaces the file. A failure is logged.
  void WriteOrLog();
  /// Writes it if kInterval has passed since the last time. A failure is logged.
  void WriteIfDue();

 private:
  const std::string path_;
  const Registry& registry_;
  const Clock& clock_;
  Log& log_;
  Instant due_{};
};

}  // namespace weir::app
