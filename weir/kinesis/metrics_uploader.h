// Uploads the metrics of a producer to CloudWatch. Mechanism: docs/design/kinesis-metrics.md.
#pragma once

#include <cstdint>
#include <memory>

#include "weir/aws/json_client.h"
#include "weir/base/done.h"
#include "weir/base/result.h"
#include "weir/kinesis/metrics_upload.h"
#include "weir/kinesis/producer_metrics.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir::kinesis {

/// What is used and not owned. `metrics` must outlive the uploader; client, scheduler and log also
/// what is under way on them.
struct MetricsUploaderParts {
  ProducerMetrics& metrics;  ///< of Producer::metrics(); one uploader for each producer
  /// Of CloudWatch (CloudWatchConnectionFor in connection.h). It must not try again by itself what
  /// may have been applied.
  JsonClient& client;
  /// Where the work is done. One that is not the producer's keeps large uploads away from puts.
  Scheduler& scheduler;
  Log& log = NoLog();  ///< what goes wrong: docs/design/log.md
};

/// Thread-safe. Puts never wait for it: it takes what the producer counted, and the producer knows
/// nothing of it. At MetricsLevel none there is nothing to upload. Close the producer first, so
/// that its last results are uploaded, too.
class MetricsUploader {
 public:
  /// The first upload is one delay later. `request_timeout`: of one request.
  MetricsUploader(const MetricsUploaderParts& parts, MetricsUploadOptions options,
                  milliseconds request_timeout, std::uint64_t seed);
  /// What is under way is abandoned, and nothing more is taken from the metrics.
  ~MetricsUploader();
  MetricsUploader(const MetricsUploader&) = delete;
  MetricsUploader& operator=(const MetricsUploader&) = delete;

  /// Uploads what is left, and ends. `done` runs on the scheduler when nothing is under way any
  /// more: by `deadline`, or when a request that was sent before Close is answered, which takes no
  /// longer than its time-out. An error says how much was not uploaded and why: kDeadlineExceeded,
  /// or as the last failure. Once. kCancelled: the uploader was destroyed before.
  void Close(Deadline deadline, Done<void> done);
  /// The same, and waits. Not from a task of the scheduler.
  Status Close(Deadline deadline);

  MetricsUploadStats stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::kinesis
