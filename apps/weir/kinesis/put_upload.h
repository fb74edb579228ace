// Uploads the metrics of `weir kinesis put` to CloudWatch.
#pragma once

#include <memory>
#include <string>

#include "apps/weir/commands/kinesis_verbs.h"
#include "apps/weir/context.h"
#include "weir/kinesis/metrics/metrics_uploader.h"
#include "weir/kinesis/producer.h"

namespace weir::app {

/// Returns a usage error if the settings in this file leave nothing to upload.
[[nodiscard]] Status CheckUpload(const kinesis::ProducerConfig& config, const std::string& file,
                                 Context& context);

/// Starts the upload. Returns null if `cloudwatch` is null. Producer, services and log must outlive
/// it.
std::unique_ptr<kinesis::MetricsUploader> BeginUpload(kinesis::Producer& producer,
                                                      const kinesis::ProducerConfig& config,
                                                      const OpenedKinesis* cloudwatch, Log& log);

/// Uploads the remaining metrics within five seconds, or not at all if the process is hurried, and
/// reports on stderr what could not be uploaded. Blocks up to the timeout of a request in flight.
/// Does nothing if `uploader` is null.
void EndUpload(kinesis::MetricsUploader* uploader, const ProcessContext& process);

}  // namespace weir::app
