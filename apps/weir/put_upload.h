// The upload of the metrics of `weir kinesis put` to CloudWatch.
#pragma once

#include <memory>
#include <string>

#include "apps/weir/context.h"
#include "apps/weir/kinesis_verbs.h"
#include "weir/kinesis/metrics_uploader.h"
#include "weir/kinesis/producer.h"

namespace weir::app {

/// A usage error if the settings of this file leave nothing to upload.
[[nodiscard]] Status CheckUpload(const kinesis::ProducerConfig& config, const std::string& file,
                                 Context& context);

/// Null where there is no CloudWatch. Producer, services and log must outlive it.
std::unique_ptr<kinesis::MetricsUploader> BeginUpload(kinesis::Producer& producer,
                                                      const kinesis::ProducerConfig& config,
                                                      const OpenedKinesis* cloudwatch, Log& log);

/// Uploads what is left, within five seconds or, hurried, not at all, and says on stderr what could
/// not be uploaded. Blocks, for a request that is under way up to its time-out. Does nothing for
/// null.
void EndUpload(kinesis::MetricsUploader* uploader, const ProcessContext& process);

}  // namespace weir::app
