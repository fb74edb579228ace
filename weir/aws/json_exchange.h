// One call on a JSON service as a state machine without I/O: outcomes and the time go in, the next
// step comes out.
//
//   Begin --> FetchCredentials --> SignFor --> SendBy --> JsonResult
//                    ^                            |
//                    +---------- WakeAt <---------+
//
// Exactly one event follows each step (OnCredentials, OnSigned, OnAttempt, OnWake), until the step
// is a JsonResult. Any failure may lead to WakeAt or to a JsonResult. If a request waited too long
// for a connection, SendBy leads to FetchCredentials directly.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "weir/aws/clock_skew.h"
#include "weir/aws/json_client.h"
#include "weir/aws/response_classifier.h"
#include "weir/aws/retry.h"
#include "weir/aws/retrying_client.h"
#include "weir/base/result.h"

namespace weir {

struct Moment {
  Instant now;
  UnixMillis wall;
};

/// The state that all calls of one client share. The owner holds its lock during each event that
/// uses the state.
struct SharedRetries {
  explicit SharedRetries(const JsonClientOptions& options)
      : quota(options.retry.quota), rng(options.seed) {}
  RetryQuota quota;
  ClockSkew skew;
  Rng rng;
};

using JsonResult = tl::expected<JsonReply, AwsFailure>;

struct FetchCredentials {  ///< get credentials; then OnCredentials
  Deadline deadline;
};
struct SignFor {  ///< sign MakeRequest() with credentials() for this time; then OnSigned
  UnixMillis time;
};
struct SendBy {  ///< send the signed request; then OnAttempt
  SendLimits limits;
};
struct WakeAt {  ///< wait until then; then OnWake
  Instant at;
};
using JsonStep = std::variant<FetchCredentials, SignFor, SendBy, WakeAt, JsonResult>;

class JsonExchange {
 public:
  /// `options` must outlive the exchange.
  JsonExchange(const JsonClientOptions& options, JsonCall call, Deadline deadline);

  JsonStep Begin(Instant now) { return StartAttempt(now); }
  JsonStep OnCredentials(Result<Credentials> got, Moment at, SharedRetries& shared);
  JsonStep OnSigned(const Status& signed_well, Instant now);
  JsonStep OnAttempt(Attempt attempt, Moment at, SharedRetries& shared);
  JsonStep OnWake(Instant now) { return StartAttempt(now); }
  /// Ends the call if there will be no event for the last step. Returns its result.
  JsonResult Abandon();

  const Credentials& credentials() const { return credentials_; }
  /// Returns whether the last response says that the service does not, or no longer, accept
  /// credentials(). If it does, the owner reports them to the provider after OnAttempt.
  bool rejected() const { return rejected_; }
  HttpRequest MakeRequest() const;
  AttemptContext context() const;
  int attempts() const { return attempts_; }

 private:
  /// Begins an attempt, unless the deadline has passed.
  JsonStep StartAttempt(Instant now);
  /// Retries the call or ends it.
  JsonStep OnFailure(AwsFailure failure, FailedAttempt failed, Moment at, SharedRetries& shared);
  /// Returns whether the request waited for a connection until its signature was too old.
  bool ExpiredInQueue(const Attempt& attempt, Instant now) const;
  /// Returns the remedy for a failure of kAuth, and applies it if it is a correction of the clock.
  AuthRemedy ApplyRemedy(const Attempt& attempt, SharedRetries& shared) const;
  AwsFailure OutOfTime() const;
  /// Completes a failure with the facts of all attempts. `why_not`: why there is no retry.
  tl::unexpected<AwsFailure> FinalFailure(AwsFailure failure, std::string_view why_not = {}) const;

  const JsonClientOptions& options_;
  const JsonCall call_;
  const Deadline deadline_;
  RetryPolicy policy_;
  int attempts_ = 0;
  bool is_out_ = false;               ///< a request is in flight
  bool maybe_applied_ = false;        ///< by an attempt that has ended
  bool key_range_throttled_ = false;  ///< an attempt had this flag
  UnixMillis signed_for_;
  Instant handed_over_;      ///< the time at which the request was passed to the transport
  Credentials credentials_;  ///< for Rejected, and to be compared with the next fetched ones
  bool rejected_ = false;
  std::optional<AwsFailure> rejection_;  ///< the failure that rejected credentials_
  std::string last_cause_;               ///< the message of the last failure
};

}  // namespace weir
