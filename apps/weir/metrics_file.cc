#include "apps/weir/metrics_file.h"

#include <utility>

#include "apps/weir/files.h"

namespace weir::app {

MetricsFile::MetricsFile(std::string path, const Registry& registry, const Clock& clock, Log& log)
    : path_(std::move(path)), registry_(registry), clock_(clock), log_(log) {}

Status MetricsFile::Write() {
  if (path_.empty()) return {};
  due_ = clock_.Now() + kInterval;
  return WriteFile(path_, registry_.Text());
}

void MetricsFile::WriteOrLog() {
  const Status written = Write();
  if (written) return;
  const LogField fields[] = {{"file", std::string_view(path_)},
                             {"message", std::string_view(written.error().message)}};
  log_.Write(LogLevel::kWarning, "metrics.file_failed", fields);
}

void MetricsFile::WriteIfDue() {
  if (clock_.Now() >= due_) WriteOrLog();
}

}  // namespace weir::app
