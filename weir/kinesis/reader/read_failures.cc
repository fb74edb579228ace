#include "weir/kinesis/reader/read_failures.h"

namespace weir::kinesis {
namespace {

bool MayRetryRead(FailureClass kind) {
  return kind == FailureClass::kThrottle || kind == FailureClass::kTransient ||
         kind == FailureClass::kAmbiguous || kind == FailureClass::kDeadline;
}

}  // namespace

ReadFailures::ReadFailures(const ReaderOptions& options, std::uint64_t seed)
    : first_backoff_(options.first_backoff),
      longest_backoff_(options.longest_backoff),
      max_tries_(options.max_tries),
      rng_(seed) {}

Result<Instant> ReadFailures::RetryAt(FailureSeries& series, const AwsFailure& failure,
                                      Instant now) {
  if (!MayRetryRead(failure.kind)) return Fail(ToError(failure));
  // Throttles are retried without end and do not count as failures.
  if (failure.kind != FailureClass::kThrottle && series.failures++ == 0 && failing_++ == 0) {
    first_ = ToError(failure);
  }
  const bool is_last = max_tries_ > 0 && series.failures >= max_tries_;
  if (is_last) return Fail(ToError(failure));
  return now + NextWait(series);
}

Result<Instant> ReadFailures::ReplaceAt(FailureSeries& series, AwsFailure expiry, Instant now) {
  if (++series.expiries == 1) return now;
  expiry.kind = FailureClass::kTransient;
  return RetryAt(series, expiry, now);
}

void ReadFailures::End(FailureSeries& series) {
  series.expiries = 0;
  if (std::exchange(series.failures, 0) > 0) --failing_;
}

AwsFailure UnreadableResponse(const Error& error) {
  AwsFailure failure;
  failure.kind = FailureClass::kAmbiguous;
  failure.message = error.message;
  return failure;
}

}  // namespace weir::kinesis
