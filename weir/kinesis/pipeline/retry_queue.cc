#include "weir/kinesis/pipeline/retry_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::kinesis {
namespace {

Attempts::Shared WithLastAttemptNote(const Attempts::Shared& attempt, std::uint32_t max_attempts) {
  Attempt last = *attempt;
  last.message += fmt::format(" (the last of {} attempts: max_attempts)", max_attempts);
  return std::make_shared<const Attempt>(std::move(last));
}

/// Returns the number of attempts without halvings, including the one that has just ended and is
/// not in the list yet.
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

// All user records use copies of the same random state, so that their waits are equal.
RetryQueue::Decision RetryQueue::Put(RetryGroup group, const AttemptFailure& failure, Instant now,
                                     Rng& rng) {
  const Rng shared_rng = rng;
  rng.Next();
  MarkFailure(group.records, failure);
  // If no record of the group is sent again, the group takes no budget, since it could never give
  // the budget back.
  const bool is_over_budget = WouldBeSentAgain(group.records, failure, now, shared_rng) &&
                              !budget_.TakeForRetry(failure.kind);
  Decision decision;
  RetryGroup retried{.ticket = group.ticket};
  std::optional<Instant> earliest;  // retry before an expiry
  Instant last_expiry{INT64_MIN};   // of the records whose retry would be too late
  Attempts::Shared last;
  for (UserRecord& user : group.records) {
    if (user.is_reported) {
      decision.ended.push_back(std::move(user));
      continue;
    }
    Rng rng_copy = shared_rng;
    FailedAttempt failed = FailureOf(user, failure);
    failed.is_over_budget = is_over_budget;
    const auto at = RetryAt(options_, failed, now, rng_copy);
    const bool is_spent = IsSpent(options_, failed, now);
    if (is_spent && !last) last = WithLastAttemptNote(failure.attempt, options_.max_attempts);
    user.attempts.Add(is_spent ? last : failure.attempt);
    if (!at) {
      decision.ended.push_back(std::move(user));
      continue;
    }
    if (*at < user.expires) {
      ++retries_;
      earliest = std::min(earliest.value_or(*at), *at);
    } else {
      last_expiry = std::max(last_expiry, *at);
    }
    retried.records.push_back(std::move(user));
  }
  decision.is_queued = !retried.records.empty();
  if (decision.is_queued) Add({earliest.value_or(last_expiry), std::move(retried)});
  return decision;
}

void RetryQueue::Add(Waiting waiting) {
  Instant wake = waiting.at;
  for (const UserRecord& user : waiting.group.records) wake = std::min(wake, user.expires);
  groups_.emplace(wake, std::move(waiting));
}

bool RetryQueue::WouldBeSentAgain(const std::vector<UserRecord>& records,
                                  const AttemptFailure& failure, Instant now,
                                  const Rng& rng) const {
  return std::ranges::any_of(records, [&](const UserRecord& user) {
    if (user.is_reported) return false;
    Rng rng_copy = rng;
    const auto at = RetryAt(options_, FailureOf(user, failure), now, rng_copy);
    return at && *at < user.expires;
  });
}

void RetryQueue::OnStored(const KinesisRecord& record) {
  budget_.OnStored(AttemptsOf(record.records.front()));
}

std::optional<RetryGroup> RetryQueue::TakeDue(Instant now) {
  if (groups_.empty() || groups_.begin()->first > now) return std::nullopt;
  Waiting waiting = std::move(groups_.extract(groups_.begin()).mapped());
  if (waiting.at <= now) return std::move(waiting.group);
  RetryGroup expired{.ticket = waiting.group.ticket, .records = {}, .others_wait = true};
  std::vector<UserRecord> others;
  for (UserRecord& user : waiting.group.records) {
    (user.expires > now ? others : expired.records).push_back(std::move(user));
  }
  waiting.group.records = std::move(others);
  Add(std::move(waiting));
  return expired;
}

std::vector<UserRecord> RetryQueue::TakeAll() {
  std::vector<UserRecord> all;
  for (auto& [wake, waiting] : std::exchange(groups_, {})) {
    std::ranges::move(waiting.group.records, std::back_inserter(all));
  }
  return all;
}

std::optional<Instant> RetryQueue::NextWake() const {
  if (groups_.empty()) return std::nullopt;
  return groups_.begin()->first;
}

}  // namespace weir::kinesis
