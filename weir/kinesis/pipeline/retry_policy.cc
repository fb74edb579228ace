#include "weir/kinesis/pipeline/retry_policy.h"

#include <algorithm>

#include "weir/runtime/backoff.h"

namespace weir::kinesis {
namespace {

// The codes of entries are classified like the code of a response with this HTTP status.
constexpr int kServerError = 500;

bool IsRetriable(FailureClass kind) {
  return kind == FailureClass::kThrottle || kind == FailureClass::kTransient ||
         kind == FailureClass::kAmbiguous || kind == FailureClass::kConflict;
}

bool MayBeRetried(const RetryOptions& options, const FailedAttempt& failed, Instant now) {
  if (options.fail_if_throttled && failed.kind == FailureClass::kThrottle) return false;
  const bool is_held =
      IsTemporaryAbsence(failed.kind, failed.code) && now - failed.held_since < options.hold_time;
  return is_held || IsRetriable(failed.kind);
}

nanoseconds WaitAfter(const RetryOptions& options, const FailedAttempt& failed, Instant now,
                      Rng& rng) {
  const nanoseconds usual = Backoff(options.base, options.cap, failed.attempts - 1).Next(rng);
  if (!failed.is_over_budget) return usual;
  // Over the budget: from half of the cap to the cap.
  const nanoseconds half = options.cap / 2;
  const nanoseconds slow = half + Backoff(half, half).Next(rng);
  return now + slow < failed.expires ? slow : usual;
}

}  // namespace

bool IsTemporaryAbsence(FailureClass kind, std::string_view code) {
  if (kind == FailureClass::kAuth) return !IsPermissionDenied(code);
  return IsStreamMissing(code);
}

bool IsStreamMissing(std::string_view code) { return code == "ResourceNotFoundException"; }

FailureClass ClassOfEntry(std::string_view code) {
  return Classify(kServerError, code, "PutRecords");
}

bool IsSpent(const RetryOptions& options, const FailedAttempt& failed, Instant now) {
  return options.max_attempts > 0 && failed.attempts >= options.max_attempts &&
         MayBeRetried(options, failed, now);
}

std::optional<Instant> RetryAt(const RetryOptions& options, const FailedAttempt& failed,
                               Instant now, Rng& rng) {
  if (!MayBeRetried(options, failed, now) || IsSpent(options, failed, now)) return std::nullopt;
  return std::min(now + WaitAfter(options, failed, now, rng), failed.expires);
}

RetryBudget::RetryBudget(std::int64_t records) : quota_(records * kRetryCost) {}

bool RetryBudget::TakeForRetry(FailureClass kind) {
  const bool is_free = kind == FailureClass::kThrottle || !IsRetriable(kind);
  return is_free || quota_.Take(kRetryCost);
}

void RetryBudget::OnStored(std::uint32_t attempts) {
  quota_.GiveBack(attempts > 1 ? kRetryCost : kSuccessReturn);
}

}  // namespace weir::kinesis
