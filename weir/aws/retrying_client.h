// The JsonClient that uses the network: credentials, signature, request, and retries.
// json_exchange.h makes the decisions; this client carries them out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/aws/credentials/credentials.h"
#include "weir/aws/http/http.h"
#include "weir/aws/json_client.h"
#include "weir/aws/retry.h"
#include "weir/aws/signing/signer.h"
#include "weir/base/api.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir {

/// All parts must outlive the client and each pending call. A pending call continues when its
/// client is destroyed. If a part drops a call without completing it (for example a Loop that is
/// destroyed), the call completes with the state it has: kAmbiguous if a request was in flight,
/// else kTransient.
struct JsonClientParts {
  HttpTransport& transport;
  Signer& signer;
  CredentialsProvider& credentials;
  Scheduler& scheduler;  ///< its clock is the clock of the deadlines
};

struct JsonClientOptions {
  /// The prefix of the x-amz-target header, for example "DynamoDB_20120810".
  std::string target_prefix;
  std::string content_type = "application/x-amz-json-1.0";
  std::string host;  ///< the host header: with the port, unless it is the default of the scheme
  std::string path = "/";
  /// Limit of one request and its whole response, from when it has a connection. Waiting for a
  /// connection is bounded only by the call's deadline, and is neither a failure nor a retry: a
  /// request that waited until its signature got old (kSignatureLife in clock_skew.h) is signed
  /// again and continues to wait. The default is far above the time that DynamoDB takes for any of
  /// our requests, so that only requests that are really lost are ended.
  milliseconds attempt_timeout{5'000};
  RetryOptions retry;
  std::size_t max_error_body = 64 * 1024;  ///< bytes; see ClassifyResponse in response_classifier.h
  std::uint64_t seed = 0;  ///< the seed of the delays of retries; each process should use its own
  /// Gets "aws.throttled" and "clock.service_time_stepped". Must outlive each call.
  Log* log = nullptr;
};

WEIR_API std::unique_ptr<JsonClient> MakeJsonClient(JsonClientParts parts,
                                                    JsonClientOptions options);

}  // namespace weir
