// Calls on an AWS service that speaks JSON: signed, retried, completed by their deadline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/aws/http/http.h"
#include "weir/base/api.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"
#include "weir/telemetry/histogram.h"

namespace weir {

/// The request line and headers of a call on a service that does not speak JSON, such as S3 and
/// STS. The client adds the host and the signature.
struct CallTarget {
  std::string method = "POST";
  std::string path = "/";  ///< with the query; both are percent-encoded
  std::vector<HttpHeader> headers;
};

struct JsonCall {
  std::string operation;  ///< for example "UpdateItem"
  std::string body;
  /// True if sending the call twice does no harm: then an ambiguous failure is retried. Otherwise
  /// the call completes with the failure, and the caller decides.
  bool repeatable = false;
  /// Nothing: a POST on the client's path, of the client's content type, with x-amz-target.
  std::optional<CallTarget> target{};
};

struct JsonReply {
  std::string body;
  int attempts = 1;  ///< requests that were passed to the transport
  /// An earlier attempt of this call may have been applied as well (repeatable calls only).
  bool maybe_repeated = false;
  /// An earlier attempt was throttled because of the writes on one key range of the table.
  bool key_range_throttled = false;
};

using JsonDone = std::move_only_function<void(tl::expected<JsonReply, AwsFailure>)>;

/// Counters since the client was made.
struct JsonClientStats {
  std::uint64_t calls = 0;
  std::uint64_t attempts = 0;       ///< requests that were passed to the transport
  std::uint64_t retries = 0;        ///< how many of these repeat an earlier request of their call
  std::uint64_t throttles = 0;      ///< responses of FailureClass::kThrottle
  std::uint64_t quota_refused = 0;  ///< retries that the retry quota did not allow
};

/// Thread-safe. `done` runs exactly once, before Call returns or later on a thread of the client or
/// on one that blocks in Await after it called Call; under no lock, and at the latest soon after
/// the deadline.
class WEIR_API JsonClient {
 public:
  virtual ~JsonClient() = default;
  virtual void Call(JsonCall call, Deadline deadline, JsonDone done) = 0;
  virtual JsonClientStats stats() const { return {}; }
  /// Returns a histogram of the nanoseconds from passing a request to the transport until its
  /// response or failure, for all attempts.
  virtual HistogramSnapshot RequestTime() const { return {}; }
  /// Returns the service's time, which follows the Date of its responses and no wall clock
  /// (server_time.h). Returns nothing before it is known, and for clients that do not track it.
  virtual std::optional<UnixMillis> ServerNow() const { return std::nullopt; }
  /// Like ServerNow; returns nothing unless a response of the last ten seconds agreed with that
  /// time and no later one disagreed.
  virtual std::optional<UnixMillis> ConfirmedNow() const { return std::nullopt; }
};

}  // namespace weir
