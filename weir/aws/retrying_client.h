// The one JsonClient with a network below it: credentials, signature, request, and another try
// where that helps. The decisions are json_exchange.h's; this carries them out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/aws/credentials.h"
#include "weir/aws/http.h"
#include "weir/aws/json_client.h"
#include "weir/aws/retry.h"
#include "weir/aws/signer.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir {

/// All must outlive the client and each call that is under way. A call goes on when its client is
/// destroyed. One that a part drops unanswered (a Loop that is destroyed, for example) is answered
/// as it then stands: kAmbiguous if a request was out, else kTransient.
struct JsonClientParts {
  HttpTransport& transport;
  Signer& signer;
  CredentialsProvider& credentials;
  Scheduler& scheduler;  ///< its clock is the one the deadlines count on
};

struct JsonClientOptions {
  std::string target_prefix;  ///< of x-amz-target, for example "DynamoDB_20120810"
  std::string content_type = "application/x-amz-json-1.0";
  std::string host;  ///< the host header: with the port, unless that is the scheme's own
  std::string path = "/";
  /// For one request and its whole answer, from when it has a connection. Waiting for that is
  /// bounded by the call's deadline alone, and is neither a failure nor a retry: a request that
  /// waited until its signature got old (kSignatureLife in clock_skew.h) is signed anew and goes on
  /// waiting. The default is far above what DynamoDB takes for any request of ours, so that it ends
  /// only what is really lost.
  milliseconds attempt_timeout{5'000};
  RetryOptions retry;
  std::size_t max_error_body = 64 * 1024;  ///< bytes; see ClassifyResponse in response_classifier.h
  std::uint64_t seed = 0;  ///< of the waits between tries; each process should have its own
  /// Gets "aws.throttled" and "clock.service_time_stepped". Must outlive each call.
  Log* log = nullptr;
};

std::unique_ptr<JsonClient> MakeJsonClient(JsonClientParts parts, JsonClientOptions options);

}  // namespace weir
