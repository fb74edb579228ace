#include "weir/kinesis/retry_policy.h"

#include <algorithm>

#include "weir/runtime/backoff.h"

namespace weir::kinesis {
namespace {

constexpr int kServerError = 500;

bool MayGoBetter(FailureClass kind) {
  return kind == FailureClass::kThrottle || kind == FailureClass::kTransient ||
         kind == FailureClass::kAmbiguous || kind == FailureClass::kConflict;
}

nanoseconds WaitAfter(const RetryOptions& options, const Failed& failed, Instant now, Rng& rng) {
  const nanoseconds usual = Backoff(options.base, options.cap, failed.attempts - 1).Next(rng);
  if (!failed.is_over_budget) return usual;
  const nanoseconds half = options.cap / 2;
  const nanoseconds slow = half + Backoff(half, half).Next(rng);
  return now + slow < failed.expires ? slow : usual;
}

}  // namespace

bool MayCome(FailureClass kind, std::string_view code) {
  if (kind == FailureClass::kAuth) return !IsPermission(code);
  return code == "ResourceNotFoundException";
}

FailureClass ClassOfEntry(std::string_view code) {
  return Classify(kServerError, code, "PutRecords");
}

std::optional<Instant> RetryAt(const RetryOptions& options, const Failed& failed, Instant now,
                               Rng& rng) {
  const bool spent = options.max_attempts > 0 && failed.attempts >= options.max_attempts;
  const bool refused = options.fail_if_throttled && failed.kind == FailureClass::kThrottle;
  const bool is_held = MayCome(failed.kind, failed.code) && now - failed.held_since < options.hold;
  if (spent || refused || !(MayGoBetter(failed.kind) || is_held)) return std::nullopt;
  return std::min(now + WaitAfter(options, failed, now, rng), failed.expires);
}

RetryBudget::RetryBudget(std::int64_t records) : quota_(records * kRetryCost) {}

bool RetryBudget::Take(FailureClass kind) {
  const bool is_free = kind == FailureClass::kThrottle || !MayGoBetter(kind);
  return is_free || quota_.Take(kRetryCost);
}

void RetryBudget::OnStored(std::uint32_t attempts) {
  quota_.GiveBack(attempts > 1 ? kRetryCost : kSuccessReturn);
}

}  // namespace weir::kinesis
