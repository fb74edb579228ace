// Calls on an AWS service that speaks JSON: signed, retried, answered in time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "weir/aws/failure.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"
#include "weir/telemetry/histogram.h"

namespace weir {

struct JsonCall {
  std::string operation;  ///< for example "UpdateItem"
  std::string body;
  /// Sending it twice does no harm: an ambiguous failure is tried again. Otherwise it is answered
  /// as it is, and the caller decides.
  bool repeatable = false;
};

struct JsonReply {
  std::string body;
  int attempts = 1;  ///< requests that were handed to the transport
  /// An earlier attempt of this call may have been applied as well (repeatable calls only).
  bool maybe_repeated = false;
  /// An earlier attempt was throttled for the writes on one key range of the table.
  bool key_range_throttled = false;
};

using JsonDone = std::move_only_function<void(tl::expected<JsonReply, AwsFailure>)>;

/// Since the client was made.
struct JsonClientStats {
  std::uint64_t calls = 0;
  std::uint64_t attempts = 0;       ///< requests that were handed to the transport
  std::uint64_t retries = 0;        ///< of these, those that were not the first of their call
  std::uint64_t throttles = 0;      ///< answers of FailureClass::kThrottle
  std::uint64_t quota_refused = 0;  ///< retries that the retry quota did not allow
};

/// Thread-safe. `done` runs exactly once, before Call returns or later on a thread of the client's
/// or on one that blocks in Await after it called Call; under no lock, at the latest soon after the
/// deadline.
class JsonClient {
 public:
  virtual ~JsonClient() = default;
  virtual void Call(JsonCall call, Deadline deadline, JsonDone done) = 0;
  virtual JsonClientStats stats() const { return {}; }
  /// Nanoseconds from handing a request to the transport until its answer or failure, of each
  /// attempt.
  virtual HistogramSnapshot RequestTime() const { return {}; }
  /// The service's time, which follows its responses and no wall clock (server_time.h); nothing
  /// before the first of them, and for clients that do not look at it.
  virtual std::optional<UnixMillis> ServerNow() const { return std::nullopt; }
  /// The same; nothing unless a response of the last ten seconds agreed with it, and none since
  /// then did not.
  virtual std::optional<UnixMillis> ConfirmedNow() const { return std::nullopt; }
};

}  // namespace weir
