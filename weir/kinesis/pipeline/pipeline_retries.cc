// Records that were not stored: retried, expired or failed.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/kinesis/pipeline/pipeline.h"
#include "weir/runtime/deadline.h"

namespace weir::kinesis {

namespace {

Attempt ExpiredAt(Instant now) {
  return {.began = now,
          .ended = now,
          .code = std::string(kExpired),
          .message = "its time to live ended before it was stored"};
}

Attempt Unanswered(Instant began, Instant now) {
  return {.began = began,
          .ended = now,
          .code = std::string(Name(FailureClass::kAmbiguous)),
          .message = "its request was not answered in time"};
}

Attempts::Shared LastOf(const Attempts::Shared& attempt, std::uint32_t max_attempts) {
  Attempt last = *attempt;
  last.message += fmt::format(" (the last of {} attempts: max_attempts)", max_attempts);
  return std::make_shared<const Attempt>(std::move(last));
}

/// Returns the number of attempts, with the one that failed now and is not in the list yet.
std::uint32_t AttemptsOf(const UserRecord& user) {
  return user.attempts.count() - user.halvings + 1;
}

FailedAttempt FailureOf(const UserRecord& user, FailureClass kind,
                        const Attempts::Shared& attempt) {
  return {.kind = kind,
          .attempts = AttemptsOf(user),
          .expires = user.expires,
          .code = attempt->code,
          .held_since = user.held_since.value_or(attempt->ended)};
}

}  // namespace

// All user records of one Kinesis record are retried at one time, so that they are aggregated
// together again.
void Pipeline::TryAgain(KinesisRecord record, const Attempts::Shared& attempt, FailureClass kind,
                        Instant now) {
  Unframe(record);
  std::vector<UserRecord> rest;
  std::optional<Instant> earliest;
  Attempts::Shared last;
  for (UserRecord& user : record.records) {
    user.maybe_duplicate = user.maybe_duplicate || kind == FailureClass::kAmbiguous;
    if (IsTemporaryAbsence(kind, attempt->code) && !user.held_since)
      user.held_since = attempt->began;
  }
  // A record that is not retried takes nothing from the budget, since it could not give it back.
  const bool is_over_budget =
      WouldBeSentAgain(record.records, attempt, kind, now) && !retry_budget_.TakeForRetry(kind);
  for (UserRecord& user : record.records) {
    if (ReleaseIfReported(user)) continue;
    // Each user record draws the same random number, so that their waits are equal.
    Rng same = rng_;
    FailedAttempt failed = FailureOf(user, kind, attempt);
    failed.is_over_budget = is_over_budget;
    const auto at = RetryAt(options_.retry, failed, now, same);
    const bool is_spent = IsSpent(options_.retry, failed, now);
    if (is_spent && !last) last = LastOf(attempt, options_.retry.max_attempts);
    user.attempts.Add(is_spent ? last : attempt);
    if (!at) {
      FailRecord(std::move(user));
    } else {
      if (*at < user.expires) ++counts_.retries;
      earliest = std::min(earliest.value_or(*at), *at);
      rest.push_back(std::move(user));
    }
  }
  rng_.Next();
  ScheduleRetry(record.ticket, std::move(rest), earliest.value_or(now));
}

bool Pipeline::WouldBeSentAgain(const std::vector<UserRecord>& records,
                                const Attempts::Shared& attempt, FailureClass kind,
                                Instant now) const {
  return std::ranges::any_of(records, [&](const UserRecord& user) {
    if (user.is_reported) return false;
    Rng same = rng_;
    const auto at = RetryAt(options_.retry, FailureOf(user, kind, attempt), now, same);
    return at && *at < user.expires;
  });
}

void Pipeline::ScheduleRetry(OrderGate::Ticket ticket, std::vector<UserRecord> rest, Instant at) {
  // The ticket ends if no user record is left. Otherwise it keeps its positions until the retry.
  if (gate_ && rest.empty()) {
    gate_->Done(ticket, passed_);
  } else if (gate_) {
    ordered_retries_.emplace(at, OrderedRetry{ticket, std::move(rest)});
  } else {
    for (UserRecord& user : rest) retries_.emplace(at, std::move(user));
  }
}

void Pipeline::AggregateDueRetries(Instant now) {
  while (!retries_.empty() && retries_.begin()->first <= now) {
    UserRecord record = std::move(retries_.extract(retries_.begin()).mapped());
    // A retry that would come too late was scheduled for the expiry (RetryAt).
    if (record.expires <= now) {
      FailExpired(std::move(record), now);
      continue;
    }
    record.deadline = std::min(now + options_.retry_linger, InTime(now, record.expires));
    AggregateRecord(std::move(record));
  }
  while (!ordered_retries_.empty() && ordered_retries_.begin()->first <= now) {
    OrderedRetry retry = std::move(ordered_retries_.extract(ordered_retries_.begin()).mapped());
    ReframeUnexpired(retry.ticket, std::move(retry.records), now);
  }
}

// By the present shard map: the shard may have been split since.
std::vector<KinesisRecord> Pipeline::AggregateApart(std::vector<UserRecord> records) {
  Aggregator aggregator(options_.aggregator);
  std::vector<KinesisRecord> framed;
  for (UserRecord& record : records) {
    const ExpectedShard expected = map_.ShardOf(record.hash);
    aggregator.Put(std::move(record), expected, framed);
  }
  aggregator.TakeAll(framed);
  return framed;
}

void Pipeline::GiveUpExpired(Instant now) {
  while (!parked_.empty() && parked_.begin()->first <= now) {
    GiveUpListing(std::move(parked_.extract(parked_.begin()).mapped()), now);
  }
}

void Pipeline::ExpireWaiting(Instant now) {
  ExpireUnmapped(now);
  std::vector<KinesisRecord> expired;
  window_.TakeExpired(now, expired);
  if (gate_) gate_->Lift(now, expired);
  if (budget_) budget_->TakeExpired(now, expired);
  for (KinesisRecord& record : expired) ExpireRecord(std::move(record), now);
}

void Pipeline::ExpireUnmapped(Instant now) {
  if (unmapped_.empty() || now < unmapped_expire_) return;
  for (UserRecord& record : std::exchange(unmapped_, {})) {
    record.expires > now ? AddUnmapped(std::move(record)) : FailExpired(std::move(record), now);
  }
}

// A Kinesis record expires with the first of its user records; the others are framed again.
void Pipeline::ExpireRecord(KinesisRecord record, Instant now) {
  Unframe(record);
  ReframeUnexpired(record.ticket, std::move(record.records), now);
}

void Pipeline::ReframeUnexpired(OrderGate::Ticket ticket, std::vector<UserRecord> records,
                                Instant now) {
  std::vector<UserRecord> rest;
  for (UserRecord& user : records) {
    user.expires > now ? rest.push_back(std::move(user)) : FailExpired(std::move(user), now);
  }
  if (gate_) {
    gate_->Split(ticket, AggregateApart(std::move(rest)), passed_);
  } else {
    for (UserRecord& user : rest) AggregateRecord(std::move(user));
  }
}

void Pipeline::FailExpired(UserRecord record, Instant now) {
  record.attempts.Add(ExpiredAt(now));
  FailRecord(std::move(record));
}

// The request may still succeed. Its records with a result are neither reported nor retried again.
void Pipeline::ReportOverdue(Instant now) {
  std::vector<RequestWindow::Overdue> overdue;
  window_.ReportOverdue(now - kLastWait, overdue);
  for (const RequestWindow::Overdue& each : overdue) {
    RecordResult result{.number = each.record->number,
                        .attempts = each.record->attempts,
                        .maybe_duplicate = true,
                        .is_in_flight = true};
    result.attempts.Add(Unanswered(each.began, now));
    result.attempts.Add(ExpiredAt(now));
    results_.push_back(std::move(result));
    --pending_;
  }
}

// Returns true if the record already has its result: this was the end of its request.
bool Pipeline::ReleaseIfReported(const UserRecord& record) {
  if (record.is_reported) released_.push_back(record.number);
  return record.is_reported;
}

void Pipeline::FailRecord(UserRecord record) {
  if (ReleaseIfReported(record)) return;
  results_.push_back({.number = record.number,
                      .attempts = std::move(record.attempts),
                      .maybe_duplicate = record.maybe_duplicate});
  --pending_;
}

void Pipeline::FailAll(std::vector<UserRecord> records, const Attempts::Shared& attempt,
                       bool maybe_stored) {
  for (UserRecord& user : records) {
    user.attempts.Add(attempt);
    user.maybe_duplicate = user.maybe_duplicate || maybe_stored;
    FailRecord(std::move(user));
  }
}

PipelineStep Pipeline::Close(Instant now) {
  const Attempt end{.began = now,
                    .ended = now,
                    .code = std::string(kClosed),
                    .message = "the producer was closed before it was stored"};
  const auto closed = std::make_shared<const Attempt>(end);
  // All stages are emptied; the records that are not in flight get the same attempt.
  std::vector<KinesisRecord> waiting = std::exchange(aggregated_, {});
  std::ranges::move(std::exchange(passed_, {}), std::back_inserter(waiting));
  aggregator_.TakeAll(waiting);
  if (gate_) gate_->Lift(Deadline::Never().at(), waiting);
  for (auto& [expected, lane] : std::exchange(lanes_, {})) {
    ShardLimiter::Drained drained = lane.limiter.DrainAll(now);
    std::ranges::move(drained.expired, std::back_inserter(waiting));
    std::ranges::move(drained.admitted, std::back_inserter(waiting));
  }
  lane_wakes_.clear();
  std::vector<Collector::Request> collected;
  collector_.TakeAll(collected);
  for (Collector::Request& request : collected) window_.Put(std::move(request));
  window_.TakeWaiting(waiting);
  if (budget_) budget_->TakeAll(waiting);
  for (KinesisRecord& record : waiting) FailAll(std::move(record.records), closed, false);
  FailAll(std::exchange(unmapped_, {}), closed, false);
  for (auto& [at, user] : std::exchange(retries_, {})) {
    user.attempts.Add(closed);
    FailRecord(std::move(user));
  }
  for (auto& [at, retry] : std::exchange(ordered_retries_, {}))
    FailAll(std::move(retry.records), closed, false);
  // Records in flight may still be stored.
  for (RequestWindow::Flight& flight : window_.TakeInFlight()) {
    Attempt late = end;
    late.began = flight.began;
    late.message = "the producer was closed before it was answered";
    const auto cut = std::make_shared<const Attempt>(std::move(late));
    for (KinesisRecord& record : flight.records) FailAll(std::move(record.records), cut, true);
  }
  // A parked record is stored. One that is not aggregated is delivered; an aggregate may be.
  for (auto& [expires, parked] : std::exchange(parked_, {})) {
    if (parked.record.records.size() == 1) {
      GiveUpListing(std::move(parked), now);
    } else {
      FailAll(std::move(parked.record.records), closed, true);
    }
  }
  // No ticket is left.
  if (gate_) gate_.emplace();
  return Advance(now);
}

}  // namespace weir::kinesis
