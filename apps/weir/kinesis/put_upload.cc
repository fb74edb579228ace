#include "apps/weir/kinesis/put_upload.h"

#include <fmt/format.h>

#include <ostream>

namespace weir::app {
namespace {

/// The time for the last upload, after the last line has its result.
constexpr std::chrono::seconds kLastUpload{5};

}  // namespace

Status CheckUpload(const kinesis::ProducerConfig& config, const std::string& file,
                   Context& context) {
  if (config.metrics_level != "none") return {};
  context.failure = Exit::kUsage;
  return Fail(Code::kInvalidArgument, fmt::format("{}: MetricsLevel is none, so that --cloudwatch "
                                                  "has nothing to upload; change one of them",
                                                  file));
}

std::unique_ptr<kinesis::MetricsUploader> BeginUpload(kinesis::Producer& producer,
                                                      const kinesis::ProducerConfig& config,
                                                      const OpenedKinesis* cloudwatch, Log& log) {
  if (cloudwatch == nullptr) return nullptr;
  const kinesis::MetricsUploaderParts parts{producer.metrics(), cloudwatch->client,
                                            cloudwatch->scheduler, log};
  return std::make_unique<kinesis::MetricsUploader>(parts, kinesis::MetricsUploadOf(config),
                                                    config.request_timeout, cloudwatch->seed);
}

void EndUpload(kinesis::MetricsUploader* uploader, const ProcessContext& process) {
  if (uploader == nullptr) return;
  const nanoseconds wait = process.hurried() ? nanoseconds(0) : kLastUpload;
  const Status closed = uploader->Close(Deadline::After(process.clock, wait));
  if (!closed) process.err << fmt::format("weir: {}\n", closed.error().message);
}

}  // namespace weir::app
