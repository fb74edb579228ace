// The failures of a reader's requests, and when they are retried.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "weir/aws/failure.h"
#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/kinesis/reader/reader_step.h"
#include "weir/runtime/backoff.h"

namespace weir::kinesis {

/// Consecutive failures of one series of requests: those for a shard, or for the listing.
struct FailureSeries {
  Backoff backoff;
  std::uint32_t failures = 0;
  std::uint32_t expiries = 0;  ///< of iterators or page tokens
};

/// Counts the series that have failures. Not thread-safe.
class ReadFailures {
 public:
  ReadFailures(const ReaderOptions& options, std::uint64_t seed);

  /// Returns a series without failures.
  FailureSeries NewSeries() const { return {.backoff = Backoff(first_backoff_, longest_backoff_)}; }
  /// Counts a failure, unless it is a throttle. Returns when to retry; an error if a retry cannot
  /// succeed, or after max_tries consecutive failures.
  Result<Instant> RetryAt(FailureSeries& series, const AwsFailure& failure, Instant now);
  /// Handles the expiry of an iterator or of a page token. Returns when to request another one: now
  /// after the first one of a series, which is normal after a pause of the reader. Each further one
  /// counts as a failure: if they expire at once, nothing is ever read.
  Result<Instant> ReplaceAt(FailureSeries& series, AwsFailure expiry, Instant now);
  /// Sets the numbers of failures and expiries of a series to 0. Does not reset its backoff.
  void End(FailureSeries& series);
  /// Returns the next random wait of a series, without counting a failure.
  nanoseconds NextWait(FailureSeries& series) { return series.backoff.Next(rng_); }

  /// Returns whether any series has failures.
  bool any() const { return failing_ > 0; }
  /// Removes and returns the first failure since the last time that no series had failures.
  std::optional<Error> TakeFirst() { return std::exchange(first_, std::nullopt); }

 private:
  nanoseconds first_backoff_;
  nanoseconds longest_backoff_;
  std::uint32_t max_tries_;
  Rng rng_;
  std::size_t failing_ = 0;  // number of series with failures
  std::optional<Error> first_;
};

/// Returns the failure of a request whose response cannot be read: the response counts as lost.
AwsFailure UnreadableResponse(const Error& error);

}  // namespace weir::kinesis
