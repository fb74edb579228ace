#include "weir/kinesis/retry_policy.h"

#include "weir/runtime/backoff.h"

namespace weir::kinesis {
namespace {

constexpr int kServerError = 500;

bool MayGoBetter(FailureClass kind) {
  return kind == FailureClass::kThrottle || kind == FailureClass::kTransient ||
         kind == FailureClass::kAmbiguous || kind == FailureClass::kConflict;
}

nanoseconds WaitAfter(const RetryOptions& options, std::uint32_t attempts, Rng& rng) {
  return Backoff(options.base, options.cap, attempts - 1).Next(rng);
}

}  // namespace

FailureClass ClassOfEntry(std::string_view code) {
  return Classify(kServerError, code, "PutRecords");
}

std::optional<Instant> RetryAt(const RetryOptions& options, const Failed& failed, Instant now,
                               Rng& rng) {
  const bool spent = options.max_attempts > 0 && failed.attempts >= options.max_attempts;
  const bool refused = options.fail_if_throttled && failed.kind == FailureClass::kThrottle;
  if (spent || refused || !MayGoBetter(failed.kind)) return std::nullopt;
  const Instant at = now + WaitAfter(options, failed.attempts, rng);
  if (at >= failed.expires) return std::nullopt;
  return at;
}

}  // namespace weir::kinesis
