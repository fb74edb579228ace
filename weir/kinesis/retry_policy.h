// Whether and when a user record is sent again: the one place that decides it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/aws/failure.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"

namespace weir::kinesis {

struct RetryOptions {
  bool fail_if_throttled = false;
  std::uint32_t max_attempts = 0;  ///< 0: until it expires
  /// The k-th wait is random up to base * 2^k, and up to the cap. REQUIRES: 0 < base <= cap.
  nanoseconds base = milliseconds(50);
  nanoseconds cap = std::chrono::seconds(5);
};

/// The class of one entry of a PutRecords answer, or of a whole request's, by its code. Errors of
/// the server may have been applied; codes that nobody knows count as such.
FailureClass ClassOfEntry(std::string_view code);

/// What became of one attempt of a user record.
struct Failed {
  FailureClass kind = FailureClass::kPermanent;
  std::uint32_t attempts = 1;  ///< with this one
  Instant expires;             ///< the record
};

/// When to try again; nothing: it has failed for good. Throttled, transient and ambiguous are tried
/// again; permanent errors, credentials and permissions (which the client below has tried to mend)
/// are not, nor what could only be sent after it expired.
std::optional<Instant> RetryAt(const RetryOptions& options, const Failed& failed, Instant now,
                               Rng& rng);

}  // namespace weir::kinesis
