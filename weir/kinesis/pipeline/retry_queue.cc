#include "weir/kinesis/pipeline/retry_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::kinesis {
namespace {

Attempts::Shared LastOf(const Attempts::Shared& attempt, std::uint32_t max_attempts) {
  Attempt last = *attempt;
  last.message += fmt::format(" (the last of {} attempts: max_attempts)", max_attempts);
  return std::make_shared<const Attempt>(std::move(last));
}

/// Returns the number of attempts, with the one that ended now and is not in the list yet.
std::uint32_t AttemptsOf(const UserRecord& user) {
  return user.attempts.count() - user.halvings + 1;
}

FailedAttempt FailureOf(const UserRecord& user, const AttemptFailure& failure) {
  return {.kind = failure.kind,
          .attempts = AttemptsOf(user),
          .expires = user.expires,
          .code = failure.attempt->code,
          .held_since = user.held_since.value_or(failure.attempt->ended)};
}

void MarkFailure(std::vector<UserRecord>& records, const AttemptFailure& failure) {
  const bool is_ambiguous = failure.kind == FailureClass::kAmbiguous;
  const bool is_held = IsTemporaryAbsence(failure.kind, failure.attempt->code);
  for (UserRecord& user : records) {
    user.maybe_duplicate = user.maybe_duplicate || is_ambiguous;
    if (is_held && !user.held_since) user.held_since = failure.attempt->began;
  }
}

}  // namespace

// Each user record draws the same random number, so that their waits are equal.
RetryQueue::Decision RetryQueue::Put(RetryGroup group, const AttemptFailure& failure, Instant now,
                                     Rng& rng) {
  const Rng drawn = rng;
  rng.Next();
  MarkFailure(group.records, failure);
  // A record that is not retried takes nothing from the budget, since it could not give it back.
  const bool is_over_budget =
      WouldBeSentAgain(group.records, failure, now, drawn) && !budget_.TakeForRetry(failure.kind);
  Decision decision;
  RetryGroup retried{.ticket = group.ticket};
  std::optional<Instant> earliest;
  Attempts::Shared last;
  for (UserRecord& user : group.records) {
    if (user.is_reported) {
      decision.ended.push_back(std::move(user));
      continue;
    }
    Rng same = drawn;
    FailedAttempt failed = FailureOf(user, failure);
    failed.is_over_budget = is_over_budget;
    const auto at = RetryAt(options_, failed, now, same);
    const bool is_spent = IsSpent(options_, failed, now);
    if (is_spent && !last) last = LastOf(failure.attempt, options_.max_attempts);
    user.attempts.Add(is_spent ? last : failure.attempt);
    if (!at) {
      decision.ended.push_back(std::move(user));
      continue;
    }
    if (*at < user.expires) ++retries_;
    earliest = std::min(earliest.value_or(*at), *at);
    retried.records.push_back(std::move(user));
  }
  decision.is_queued = earliest.has_value();
  if (earliest) groups_.emplace(*earliest, std::move(retried));
  return decision;
}

bool RetryQueue::WouldBeSentAgain(const std::vector<UserRecord>& records,
                                  const AttemptFailure& failure, Instant now,
                                  const Rng& rng) const {
  return std::ranges::any_of(records, [&](const UserRecord& user) {
    if (user.is_reported) return false;
    Rng same = rng;
    const auto at = RetryAt(options_, FailureOf(user, failure), now, same);
    return at && *at < user.expires;
  });
}

void RetryQueue::OnStored(const KinesisRecord& record) {
  budget_.OnStored(AttemptsOf(record.records.front()));
}

std::optional<RetryGroup> RetryQueue::TakeDue(Instant now) {
  if (groups_.empty() || groups_.begin()->first > now) return std::nullopt;
  return std::move(groups_.extract(groups_.begin()).mapped());
}

std::vector<UserRecord> RetryQueue::TakeAll() {
  std::vector<UserRecord> all;
  for (auto& [at, group] : std::exchange(groups_, {})) {
    std::ranges::move(group.records, std::back_inserter(all));
  }
  return all;
}

std::optional<Instant> RetryQueue::NextWake() const {
  if (groups_.empty()) return std::nullopt;
  return groups_.begin()->first;
}

}  // namespace weir::kinesis
