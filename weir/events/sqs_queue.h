// A queue of Amazon SQS: its URL, and everything between that and the network.
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
  std::string endpoint_url;           ///< of the service: the URL without its path
  std::optional<std::string> region;  ///< where the host names one: sqs.REGION.amazonaws.com

  friend bool operator==(const SqsQueue&, const SqsQueue&) = default;
};

/// "https://sqs.eu-west-1.amazonaws.com/123456789012/ended", or the same on an engine's host.
/// kInvalidArgument, saying why, for what is no URL (aws/endpoint.h) or names no queue.
Result<SqsQueue> ParseQueueUrl(std::string_view url);

struct SqsConnectionOptions {
  std::string region;  ///< empty: the queue's, or as AWS's SDKs find it
  bool verify_certificate = true;
  Log* log = nullptr;  ///< gets the events of ServiceConnection; must outlive it
};

/// Speaks SQS's JSON protocol (Amazon SQS API Reference, "AWS JSON protocol"). Reads files and
/// environment; asks nobody yet. Errors of ServiceConnection::Open. `clock` must be a real one and
/// outlive it.
[[nodiscard]] Result<std::unique_ptr<ServiceConnection>> ConnectSqs(
    const SqsQueue& queue, const SqsConnectionOptions& options, const Clock& clock,
    const HostEnvironment& surroundings);

}  // namespace weir
