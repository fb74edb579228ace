#include "weir/events/sqs_queue.h"

#include <fmt/format.h>

#include <utility>

#include "weir/aws/endpoint.h"
#include "weir/events/sqs_wire.h"
#include "weir/model/quoted.h"

namespace weir {
namespace {

// A response may take the longest wait for messages, and 5 s more.
constexpr milliseconds kResponseWithin = kLongestSqsWait + milliseconds(5'000);

/// Returns true for texts such as "eu-west-1" and "us-gov-east-1".
bool LooksLikeRegion(std::string_view label) {
  return label.find('-') != label.npos && label.back() >= '0' && label.back() <= '9';
}

/// Removes the first label of the host and its dot, and returns the label.
std::string_view TakeLabel(std::string_view& host) {
  const std::string_view label = host.substr(0, host.find('.'));
  host.remove_prefix(std::min(label.size() + 1, host.size()));
  return label;
}

/// Returns the region in a host "sqs.REGION...", with any prefix, or in an older one,
/// "REGION.queue...".
std::optional<std::string> RegionOf(std::string_view host) {
  for (std::string_view before; !host.empty();) {
    const std::string_view label = TakeLabel(host);
    std::string_view rest = host;
    const std::string_view after = TakeLabel(rest);
    const bool is_service = label == "sqs" || label == "sqs-fips";
    if (is_service && LooksLikeRegion(after)) return std::string(after);
    if (label == "queue" && LooksLikeRegion(before)) return std::string(before);
    before = label;
  }
  return std::nullopt;
}

}  // namespace

Result<SqsQueue> ParseQueueUrl(std::string_view url) {
  WEIR_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(url));
  if (endpoint.path.ends_with('/')) {
    return Fail(Code::kInvalidArgument, fmt::format("queue {}: names no queue; expected "
                                                    "https://sqs.REGION.amazonaws.com/ACCOUNT/NAME",
                                                    Quoted(url)));
  }
  return SqsQueue{
      .url = std::string(url),
      .endpoint_url = fmt::format("{}://{}", endpoint.tls ? "https" : "http", HostHeader(endpoint)),
      .region = RegionOf(endpoint.host)};
}

Result<std::unique_ptr<ServiceConnection>> ConnectSqs(const SqsQueue& queue,
                                                      const SqsConnectionOptions& options,
                                                      const Clock& clock,
                                                      const HostEnvironment& environment) {
  const auto given = EmptyToNull(options.region);
  ServiceConnectionOptions how;
  how.service = {.service = "sqs",
                 .region = given ? given : queue.region,
                 .endpoint_url = queue.endpoint_url,
                 .profile = {}};
  how.client.target_prefix = kSqsTargetPrefix;
  how.client.attempt_timeout = kResponseWithin;
  how.runtime.verify_certificate = options.verify_certificate;
  how.log = options.log;
  return ServiceConnection::Open(std::move(how), clock, environment);
}

}  // namespace weir
