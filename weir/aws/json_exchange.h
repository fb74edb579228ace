// One call on a JSON service as a value: outcomes and the time go in, what to do next comes out.
//
//   Begin --> FetchCredentials --> SignFor --> SendBy --> JsonAnswer
//                    ^                            |
//                    +---------- WakeAt <---------+
//
// Each step is answered by exactly one event, until there is an answer. Any failure on the way may
// be followed by WakeAt or by the answer.
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

/// What all calls of one client share. Whoever owns it locks it for each event.
struct SharedRetries {
  explicit SharedRetries(const JsonClientOptions& options)
      : quota(options.retry.quota), rng(options.seed) {}
  RetryQuota quota;
  ClockSkew skew;
  Rng rng;
};

using JsonAnswer = tl::expected<JsonReply, AwsFailure>;

struct FetchCredentials {  ///< after telling the provider of rejected() ones; then OnCredentials
  Deadline deadline;
};
struct SignFor {  ///< sign MakeRequest() with credentials() for this time, then OnSigned
  UnixMillis time;
};
struct SendBy {  ///< send what was signed, then OnAttempt
  SendLimits limits;
};
struct WakeAt {  ///< then OnWake
  Instant at;
};
using JsonStep = std::variant<FetchCredentials, SignFor, SendBy, WakeAt, JsonAnswer>;

class JsonExchange {
 public:
  /// `options` must outlive it.
  JsonExchange(const JsonClientOptions& options, JsonCall call, Deadline deadline);

  JsonStep Begin(Instant now) { return Start(now); }
  JsonStep OnCredentials(Result<Credentials> got, Moment at, SharedRetries& shared);
  JsonStep OnSigned(const Status& signed_well, Instant now);
  JsonStep OnAttempt(Attempt attempt, Moment at, SharedRetries& shared);
  JsonStep OnWake(Instant now) { return Start(now); }
  /// Nobody will answer the step that is under way.
  JsonAnswer Abandon();

  const Credentials& credentials() const { return credentials_; }
  /// What the last answer says of credentials(): the service does not take them, or no more.
  bool rejected() const { return rejected_; }
  HttpRequest MakeRequest() const;
  AttemptContext context() const;
  int attempts() const { return attempts_; }

 private:
  JsonStep Start(Instant now);
  JsonStep OnFailure(AwsFailure failure, FailedAttempt failed, Moment at, SharedRetries& shared);
  bool WaitedInVain(const Attempt& attempt, Instant now) const;
  AuthRemedy Mend(const Attempt& attempt, SharedRetries& shared) const;
  AwsFailure OutOfTime() const;
  tl::unexpected<AwsFailure> Final(AwsFailure failure, std::string_view why_not = {}) const;

  const JsonClientOptions& options_;
  const JsonCall call_;
  const Deadline deadline_;
  RetryPolicy policy_;
  int attempts_ = 0;
  bool is_out_ = false;               ///< a request is under way
  bool maybe_applied_ = false;        ///< by an attempt that has ended
  bool key_range_throttled_ = false;  ///< an attempt was
  UnixMillis signed_for_;
  Instant handed_over_;      ///< to the transport
  Credentials credentials_;  ///< kept for Rejected, and to know them again
  bool rejected_ = false;
  std::optional<AwsFailure> rejection_;  ///< until others are there
  std::string last_cause_;               ///< the message of the last failure
};

}  // namespace weir
