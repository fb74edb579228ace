// Decides whether and when a user record is sent again.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/aws/failure.h"
#include "weir/aws/retry.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"

namespace weir::kinesis {

struct RetryOptions {
  bool fail_if_throttled = false;
  /// The maximum number of attempts of a user record; 0: until it expires.
  std::uint32_t max_attempts = 0;
  /// The k-th wait, counted from 0, is random: up to base * 2^k and up to cap. REQUIRES: 0 < base
  /// <= cap.
  nanoseconds base = milliseconds(50);
  nanoseconds cap = std::chrono::seconds(5);
  /// How long a record is retried after the first attempt that failed for missing or rejected
  /// credentials or a missing stream, at most until it expires. These causes may pass: a stream
  /// just created does not exist at once, and a source of credentials may be unavailable for a
  /// while.
  nanoseconds hold_time = nanoseconds::max();
  /// The number of Kinesis records of a stream that may be retried with the usual waits. Records
  /// that the service throttled do not count, since the pipeline then sends less to their shard in
  /// any case. Records over the budget wait from cap / 2 to cap, whatever the number of their
  /// attempts. REQUIRES: >= 1.
  std::int64_t budget = 1'000;
};

/// Returns the failure class of one entry of a PutRecords response by its code. A server error and
/// an unknown code are ambiguous: the entry may have been stored. For a whole request:
/// ClassOfRequest in put_response.h.
FailureClass ClassOfEntry(std::string_view code);

/// Returns whether an attempt failed because the stream does not exist or the service rejected the
/// credentials. Both may be temporary: RetryOptions::hold_time.
bool IsTemporaryAbsence(FailureClass kind, std::string_view code);
/// Returns whether the code of a request's failure says that the stream does not exist.
bool IsStreamMissing(std::string_view code);

/// One failed attempt of a user record.
struct FailedAttempt {
  FailureClass kind = FailureClass::kPermanent;
  std::uint32_t attempts = 1;  ///< including this one
  Instant expires;             ///< the expiry of the record
  bool is_over_budget = false;
  std::string_view code{};  ///< the service's error code
  /// When the first attempt that failed for a temporary absence (IsTemporaryAbsence) began.
  Instant held_since{};
};

/// Returns whether the record is not retried only because it has had RetryOptions::max_attempts.
bool IsSpent(const RetryOptions& options, const FailedAttempt& failed, Instant now);

/// The budget of RetryOptions::budget, so that a service in trouble does not get several times the
/// load. A retry takes an amount from the budget. A record that is stored after a retry gives this
/// amount back, whatever its earlier attempts failed for; a record that is stored at once gives
/// back a fifth of the amount. While no record is stored, nothing is given back.
class RetryBudget {
 public:
  explicit RetryBudget(std::int64_t records);
  /// Takes the budget for the retry of a Kinesis record that failed with `kind`. Returns false if
  /// the retry is over the budget. Throttled records, and failures that are retried only within
  /// RetryOptions::hold_time or not at all, take nothing.
  bool TakeForRetry(FailureClass kind);
  /// Gives budget back for a Kinesis record that was stored in its `attempts`-th attempt.
  void OnStored(std::uint32_t attempts);

 private:
  RetryQuota quota_;
};

/// Returns when to retry, at the latest when the record expires; nothing if it has failed for good.
/// Transient, conflicting and ambiguous failures are retried, throttles unless
/// RetryOptions::fail_if_throttled is set, and temporary absences (IsTemporaryAbsence) for
/// RetryOptions::hold_time. Denied permissions, other permanent errors and the last of max_attempts
/// are not retried. A record over the budget waits as usual if it would expire during the longer
/// wait.
std::optional<Instant> RetryAt(const RetryOptions& options, const FailedAttempt& failed,
                               Instant now, Rng& rng);

}  // namespace weir::kinesis
