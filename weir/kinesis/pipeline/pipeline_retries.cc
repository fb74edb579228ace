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

// Whether any of the records may be tried again as far as max_attempts is concerned.
bool HasAttemptsLeft(const RetryOptions& options, const std::vector<UserRecord>& records) {
  return options.max_attempts == 0 || std::ranges::any_of(records, [&](const UserRecord& user) {
           return AttemptsOf(user) < options.max_attempts;
         });
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
  // A record that is not retried takes nothing from the budget, since it could not give it back.
  const bool is_over_budget =
      HasAttemptsLeft(options_.retry, record.records) && !retry_budget_.Take(kind);
  for (UserRecord& user : record.records) {
    if (Release(user)) continue;
    user.maybe_duplicate = user.maybe_duplicate || kind == FailureClass::kAmbiguous;
    if (MayCome(kind, attempt->code) && !user.held_since) user.held_since = attempt->began;
    // Each user record draws the same random number, so that their waits are equal.
    Rng same = rng_;
    const Failed failed{kind,           AttemptsOf(user), user.expires,
                        is_over_budget, attempt->code,    user.held_since.value_or(now)};
    const auto at = RetryAt(options_.retry, failed, now, same);
    const bool is_spent = IsSpent(options_.retry, failed, now);
    if (is_spent && !last) last = LastOf(attempt, options_.retry.max_attempts);
    user.attempts.Add(is_spent ? last : attempt);
    if (!at) {
      Fail(std::move(user));
    } else {
      if (*at < user.expires) ++counts_.retries;
      earliest = std::min(earliest.value_or(*at), *at);
      rest.push_back(std::move(user));
    }
  }
  rng_.Next();
  Keep(record.ticket, std::move(rest), earliest.value_or(now));
}

void Pipeline::Keep(OrderGate::Ticket ticket, std::vector<UserRecord> rest, Instant at) {
  // The ticket ends if no user record is left. Otherwise it keeps its positions until the retry.
  if (gate_ && rest.empty()) {
    gate_->Done(ticket, passed_);
  } else if (gate_) {
    held_.emplace(at, Held{ticket, std::move(rest)});
  } else {
    for (UserRecord& user : rest) again_.emplace(at, std::move(user));
  }
}

void Pipeline::TakeAgain(Instant now) {
  while (!again_.empty() && again_.begin()->first <= now) {
    UserRecord record = std::move(again_.extract(again_.begin()).mapped());
    // A retry that would come too late was scheduled for the expiry (RetryAt).
    if (record.expires <= now) {
      FailExpired(std::move(record), now);
      continue;
    }
    record.deadline = std::min(now + options_.retry_linger, InTime(now, record.expires));
    Aggregate(std::move(record));
  }
  while (!held_.empty() && held_.begin()->first <= now) {
    Held held = std::move(held_.extract(held_.begin()).mapped());
    FrameLiving(held.ticket, std::move(held.records), now);
  }
}

// By the present shard map: the shard may have been split since.
std::vector<KinesisRecord> Pipeline::Reaggregate(std::vector<UserRecord> records) {
  Aggregator aggregator(options_.aggregator);
  std::vector<KinesisRecord> framed;
  for (UserRecord& record : records) {
    const Place place = map_.ShardOf(record.hash);
    aggregator.Put(std::move(record), place, framed);
  }
  aggregator.TakeAll(framed);
  return framed;
}

void Pipeline::GiveUpExpired(Instant now) {
  while (!parked_.empty() && parked_.begin()->first <= now) {
    GiveUp(std::move(parked_.extract(parked_.begin()).mapped()), now);
  }
}

void Pipeline::ExpireWaiting(Instant now) {
  ExpireNewcomers(now);
  std::vector<KinesisRecord> expired;
  window_.TakeExpired(now, expired);
  if (gate_) gate_->Lift(now, expired);
  if (budget_) budget_->TakeExpired(now, expired);
  for (KinesisRecord& record : expired) Expire(std::move(record), now);
}

void Pipeline::ExpireNewcomers(Instant now) {
  if (unmapped_.empty() || now < newcomers_expire_) return;
  for (UserRecord& record : std::exchange(unmapped_, {})) {
    record.expires > now ? KeepNewcomer(std::move(record)) : FailExpired(std::move(record), now);
  }
}

// A Kinesis record expires with the first of its user records; the others are framed again.
void Pipeline::Expire(KinesisRecord record, Instant now) {
  Unframe(record);
  FrameLiving(record.ticket, std::move(record.records), now);
}

void Pipeline::FrameLiving(OrderGate::Ticket ticket, std::vector<UserRecord> records, Instant now) {
  std::vector<UserRecord> rest;
  for (UserRecord& user : records) {
    user.expires > now ? rest.push_back(std::move(user)) : FailExpired(std::move(user), now);
  }
  if (gate_) {
    gate_->Split(ticket, Reaggregate(std::move(rest)), passed_);
  } else {
    for (UserRecord& user : rest) Aggregate(std::move(user));
  }
}

void Pipeline::FailExpired(UserRecord record, Instant now) {
  record.attempts.Add(ExpiredAt(now));
  Fail(std::move(record));
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
bool Pipeline::Release(const UserRecord& record) {
  if (record.is_reported) released_.push_back(record.number);
  return record.is_reported;
}

void Pipeline::Fail(UserRecord record) {
  if (Release(record)) return;
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
    Fail(std::move(user));
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
  for (auto& [place, lane] : std::exchange(lanes_, {})) {
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
  for (auto& [at, user] : std::exchange(again_, {})) {
    user.attempts.Add(closed);
    Fail(std::move(user));
  }
  for (auto& [at, held] : std::exchange(held_, {})) FailAll(std::move(held.records), closed, false);
  // Records in flight may still be stored.
  for (RequestWindow::Flight& flight : window_.TakeUnderWay()) {
    Attempt late = end;
    late.began = flight.began;
    late.message = "the producer was closed before it was answered";
    const auto cut = std::make_shared<const Attempt>(std::move(late));
    for (KinesisRecord& record : flight.records) FailAll(std::move(record.records), cut, true);
  }
  // A parked record is stored. One that is not aggregated is delivered; an aggregate may be.
  for (auto& [expires, parked] : std::exchange(parked_, {})) {
    if (parked.record.records.size() == 1) {
      GiveUp(std::move(parked), now);
    } else {
      FailAll(std::move(parked.record.records), closed, true);
    }
  }
  // No ticket is left.
  if (gate_) gate_.emplace();
  return Go(now);
}

}  // namespace weir::kinesis
