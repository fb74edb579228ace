// Whether and when a user record is sent again: the one place that decides it.
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
  std::uint32_t max_attempts = 0;  ///< of a user record; 0: until it expires
  /// The k-th wait is random up to base * 2^k, and up to the cap. REQUIRES: 0 < base <= cap.
  nanoseconds base = milliseconds(50);
  nanoseconds cap = std::chrono::seconds(5);
  /// Missing credentials and a missing stream may come: a stream that was just created is not there
  /// at once, and a source of credentials may be away. A record is tried again for this time after
  /// the first attempt that failed for this. At most as long as it lives.
  nanoseconds hold = nanoseconds::max();
  /// So many Kinesis records of a stream may be on their way again without an end that is known,
  /// and not for a throttle: that slows its shard down. Others wait from half the cap to the cap,
  /// whatever their number. REQUIRES: >= 1.
  std::int64_t budget = 1'000;
};

/// The class of one entry of a PutRecords answer, or of a whole request's, by its code. Errors of
/// the server may have been applied; codes that nobody knows count as such.
FailureClass ClassOfEntry(std::string_view code);

/// Whether an attempt failed for what may be there later: the stream, or credentials that the
/// service accepts.
bool MayCome(FailureClass kind, std::string_view code);

/// What became of one attempt of a user record.
struct Failed {
  FailureClass kind = FailureClass::kPermanent;
  std::uint32_t attempts = 1;  ///< with this one
  Instant expires;             ///< the record
  bool is_over_budget = false;
  std::string_view code{};  ///< the service's
  Instant held_since{};     ///< when the first attempt began that failed for what may come
};

/// It would be tried again if RetryOptions::max_attempts were larger.
bool IsSpent(const RetryOptions& options, const Failed& failed, Instant now);

/// What RetryOptions::budget is of: a service in trouble is not met with several times the load.
/// Sending again takes from it, being stored gives back, a fifth where it was stored at once. What
/// an earlier attempt failed for is not asked then: where nothing is stored nothing comes back.
class RetryBudget {
 public:
  explicit RetryBudget(std::int64_t records);
  /// A Kinesis record failed so. False: it is over the budget. What was throttled, and what is not
  /// tried again, takes nothing.
  bool Take(FailureClass kind);
  /// It was stored, after so many attempts.
  void OnStored(std::uint32_t attempts);

 private:
  RetryQuota quota_;
};

/// When to try again, at the latest when it expires; nothing: it has failed for good. Throttled,
/// transient and ambiguous are tried again, and for a while what may come (RetryOptions::hold);
/// permissions and other permanent errors are not. What is over budget waits as usual where the
/// longer wait would outlive it.
std::optional<Instant> RetryAt(const RetryOptions& options, const Failed& failed, Instant now,
                               Rng& rng);

}  // namespace weir::kinesis
