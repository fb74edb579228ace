// The URL of an Amazon SQS queue, and a connection to its service.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/aws/service_connection.h"
#include "weir/base/result.h"
#include "weir/telemetry/log.h"

namespace weir {

struct SqsQueue {
  std::string url;                    ///< as the service names the queue
  std::string endpoint_url;           ///< the endpoint of the service: the URL without its path
  std::optional<std::string> region;  ///< set if the host names one: sqs.REGION.amazonaws.com

  friend bool operator==(const SqsQueue&, const SqsQueue&) = default;
};

/// Parses a URL such as "https://sqs.eu-west-1.amazonaws.com/123456789012/ended", also on the host
/// of an engine that emulates SQS. Fails with kInvalidArgument, with the reason, if the text is not
/// a URL (aws/endpoint.h) or names no queue.
Result<SqsQueue> ParseQueueUrl(std::string_view url);

struct SqsConnectionOptions {
  std::string region;  ///< empty: the queue's region or, if that is unset, found as by AWS's SDKs
  bool verify_certificate = true;
  Log* log = nullptr;  ///< receives the events of ServiceConnection; must outlive it; may be null
};

/// Returns a connection that uses SQS's JSON protocol (Amazon SQS API Reference, "AWS JSON
/// protocol"). Reads files and the environment, but sends no request yet. Errors are those of
/// ServiceConnection::Open. `clock` must be a real clock and must outlive the connection.
[[nodiscard]] Result<std::unique_ptr<ServiceConnection>> ConnectSqs(
    const SqsQueue& queue, const SqsConnectionOptions& options, const Clock& clock,
    const HostEnvironment& environment);

}  // namespace weir
