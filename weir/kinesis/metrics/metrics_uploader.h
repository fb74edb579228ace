// Uploads the metrics of a producer to CloudWatch. Mechanism: docs/design/kinesis-metrics.md.
#pragma once

#include <cstdint>
#include <memory>

#include "weir/aws/json_client.h"
#include "weir/base/done.h"
#include "weir/base/result.h"
#include "weir/kinesis/metrics/metrics_upload.h"
#include "weir/kinesis/metrics/producer_metrics.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir::kinesis {

/// Objects that the uploader uses and does not own. `metrics` must outlive the uploader; client,
/// scheduler and log must also outlive its requests and tasks.
struct MetricsUploaderParts {
  ProducerMetrics& metrics;  ///< Producer::metrics(); one uploader for each producer
  /// A client of CloudWatch (CloudWatchConnectionFor in connection.h). It must not itself retry a
  /// request that may have been applied.
  JsonClient& client;
  /// Runs the work. A scheduler other than the producer's keeps large uploads away from puts.
  Scheduler& scheduler;
  Log& log = NoLog();  ///< events of failures: docs/design/log.md
};

/// Thread-safe. The uploader takes the samples of the producer, which does not depend on the
/// uploader: puts never wait for an upload. At MetricsLevel none there is nothing to upload. Close
/// the producer first, so that its last results are uploaded, too.
class MetricsUploader {
 public:
  /// Begins the first upload after one delay. `request_timeout`: of one request.
  MetricsUploader(const MetricsUploaderParts& parts, MetricsUploadOptions options,
                  milliseconds request_timeout, std::uint64_t seed);
  /// Abandons the request in flight, and does not use the metrics any more.
  ~MetricsUploader();
  MetricsUploader(const MetricsUploader&) = delete;
  MetricsUploader& operator=(const MetricsUploader&) = delete;

  /// Uploads the remaining samples and ends. `done` runs once, on the scheduler, when no request is
  /// in flight: by `deadline`, except that a request sent before Close may last longer, up to its
  /// timeout. An error says how many metrics were not uploaded and why: kDeadlineExceeded,
  /// kResourceExhausted or the code of the last failure. kCancelled: the uploader was destroyed
  /// before. After several calls, the earliest deadline counts.
  void Close(Deadline deadline, Done<void> done);
  /// The same, but blocks. Must not be called from a task of the scheduler.
  Status Close(Deadline deadline);

  MetricsUploadStats stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::kinesis
