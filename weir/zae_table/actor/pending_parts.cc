#include "weir/zae_table/actor/pending_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/zae_table/bucket/take_judge.h"

namespace weir::dynamo {
namespace {

// A part whose writes have lost to other processes this often is refused as contended.
constexpr int kMaxLost = 50;
// A refusal waits for at most this number of writes that store its limits.
constexpr int kMaxRepairs = 3;
// A write with an adjust that is_bounded fails if any other process has written since the image.
// The adjust ends after this number of failures, since the parts that share its writes fail, too.
constexpr int kMaxBounded = 3;

// A return, or a debit of a take that is kept, is tried for this duration.
constexpr nanoseconds kReturnLifetime = std::chrono::seconds(10);
// Returns that are queued within this duration are combined into one part. Otherwise they would
// fill the queue of a table that does not respond, and requests that a policy admits would be
// refused as contended.
constexpr nanoseconds kReturnsTogether = std::chrono::seconds(1);

bool OnlyDebits(const Part& part) {
  return std::ranges::all_of(part.amounts, [](std::int64_t amount) { return amount >= 0; });
}

Error TooLate(const BucketKey& key) {
  return {Code::kDeadlineExceeded,
          fmt::format("{}/{}: the table did not respond in time", key.entity, key.resource)};
}

Error NeverSaid(const BucketKey& key) {
  return {.code = Code::kUnavailable,
          .message = fmt::format("{}/{}: the response is lost, so it is not known whether the "
                                 "bucket was changed",
                                 key.entity, key.resource),
          .is_partial = true};
}

// Returns true if the same request may succeed later.
bool MayPass(FailureClass kind) {
  return kind == FailureClass::kConflict || kind == FailureClass::kThrottle ||
         kind == FailureClass::kTransient || kind == FailureClass::kDeadline;
}

}  // namespace

// A repetition of a pending adjust refers to that adjust, and is never written itself. The pending
// one is tried until the later end of both.
void PendingParts::Accept(Part part) {
  if (part.kind == Part::Kind::kAdjust) part.repetition_of = queue_.FindAdjust(part.adjust_id);
  Part* const first = queue_.Find(part.repetition_of);
  if (first != nullptr) first->drop_by = std::max(first->drop_by, part.drop_by);
  queue_.Add(std::move(part));
}

bool PendingParts::IsWaiting(PartId id) const {
  const Part* part = queue_.Find(id);
  return part != nullptr && !part->reported;
}

// A part that a write carries, or that has ended in this step, cannot be withdrawn.
PendingParts::Withdrawal PendingParts::Withdraw(PartId id) {
  const Part* part = queue_.Find(id);
  if (part == nullptr || part->in_flight) return {};
  return {.is_gone = true, .in_doubt = queue_.Remove(id).repeated};
}

PendingParts::Withdrawal PendingParts::Drop(PartId id, bool keeps) {
  Part* part = queue_.Find(id);
  if (part == nullptr) return {.is_gone = true};
  part->reported = true;
  part->caller_keeps_tokens = keeps;
  if (part->in_flight) return {.in_doubt = true};
  return {.is_gone = true, .in_doubt = queue_.Remove(id).repeated};
}

// Adds the opposite of a take whose caller has its result. If the caller keeps the tokens, the take
// was not charged: it is debited.
void PendingParts::QueueReturn(Part part, Instant now) {
  if (!part.caller_keeps_tokens) {
    for (std::int64_t& amount : part.amounts) amount = -amount;
  }
  if (AddToPendingReturn(part, now)) return;
  queue_.Add({.id = ++last_part_,
              .kind = Part::Kind::kGiveBack,
              .target = std::move(part.target),
              .amounts = std::move(part.amounts),
              .now = DateOf(part, now),
              .began_at = now,
              .drop_by = now + kReturnLifetime,
              .shards = part.shards,
              .reported = true});
}

bool PendingParts::AddToPendingReturn(const Part& part, Instant now) {
  const auto joins = [&](const Part& other) {
    return other.kind == Part::Kind::kGiveBack && other.reported && !other.in_flight &&
           !other.repeated && other.shards == part.shards &&
           SameLimits(*other.target, *part.target) && other.target->source == part.target->source &&
           OnlyDebits(other) == OnlyDebits(part) && now < other.began_at + kReturnsTogether;
  };
  std::vector<Part>& parts = queue_.all();
  const auto found = std::ranges::find_if(parts, joins);
  if (found == parts.end()) return false;
  Part sum = queue_.Remove(found->id);
  for (std::size_t i = 0; i < sum.amounts.size(); ++i) {
    sum.amounts[i] = std::clamp(sum.amounts[i] + part.amounts[i], -kMaxDebt, kMaxDebt);
  }
  ++sum.returns;
  sum.id = ++last_part_;  // PartQueue is in the order of the ids
  queue_.Add(std::move(sum));
  return true;
}

void PendingParts::Carry(const std::vector<PartId>& parts) {
  for (const PartId id : parts) queue_.Find(id)->in_flight = true;
}

void PendingParts::Settle(const WriteFence::Settlement& settled, bool is_final, Instant now,
                          PartReports& reports) {
  for (const PartId id : settled.applied) {
    if (Part* part = queue_.Find(id)) OnApplied(*part, now, reports);
  }
  for (const PartId id : settled.unknown) {
    if (Part* part = queue_.Find(id)) OnUnknown(*part, is_final, now, reports);
  }
  for (const PartId id : settled.not_applied) {
    if (Part* part = queue_.Find(id)) NotApplied(*part, now);
  }
}

// If the caller of a take has gone, the take becomes a return of its tokens.
void PendingParts::OnApplied(Part& part, Instant now, PartReports& reports) {
  part.in_flight = false;
  if (part.kind == Part::Kind::kTake && part.reported && !part.caller_keeps_tokens) {
    return QueueReturn(queue_.Remove(part.id), now);
  }
  End(part.id, {.kind = PartOutcome::Kind::kApplied, .available = part.available}, reports);
}

// Queues the part again. If the caller of a take has gone, the take is removed instead, and is
// debited if the caller keeps its tokens.
void PendingParts::NotApplied(Part& part, Instant now) {
  part.in_flight = false;
  if (part.is_adjust() || !part.reported) return;
  if (part.caller_keeps_tokens) return QueueReturn(queue_.Remove(part.id), now);
  queue_.Remove(part.id);
}

// A repetition may charge tokens twice, and the decision says so. Tokens are never given back
// twice.
void PendingParts::OnUnknown(Part& part, bool is_final, Instant now, PartReports& reports) {
  part.in_flight = false;
  if (part.caller_keeps_tokens) {
    ++reports.forfeits;
    return QueueReturn(queue_.Remove(part.id), now);
  }
  const bool is_wanted = !part.reported || part.is_adjust();
  // A caller learns of a take that may count twice, but not of an adjust.
  const bool may_count_twice = part.kind != Part::Kind::kAdjust || part.is_recorded;
  const bool may_repeat =
      !is_final && !part.repeated && is_wanted && OnlyDebits(part) && may_count_twice;
  if (std::exchange(part.repeated, true); may_repeat) return;
  if (part.kind == Part::Kind::kTake) ++reports.forfeits;
  End(part.id, {.kind = PartOutcome::Kind::kFailed, .in_doubt = true, .error = NeverSaid(key_)},
      reports);
}

int MaxLostOf(const Part& part) {
  if (part.kind == Part::Kind::kRepair) return kMaxRepairs;
  return part.is_bounded() ? kMaxBounded : kMaxLost;
}

// Other adjusts are not given up here, but at their drop_by.
void PendingParts::OnLost(const std::vector<PartId>& parts, PartReports& reports) {
  for (const PartId id : parts) {
    Part* part = queue_.Find(id);
    if (part == nullptr || part->in_flight) continue;
    const bool is_tried_on = part->is_adjust() && !part->is_bounded();
    if (++part->lost < MaxLostOf(*part) || is_tried_on) continue;
    End(id, {.kind = PartOutcome::Kind::kContended}, reports);
  }
}

void PendingParts::OnNotApplied(const std::vector<PartId>& parts, const WriteFailure& failure,
                                PartReports& reports) {
  for (const PartId id : parts) {
    Part* part = queue_.Find(id);
    if (part == nullptr || part->in_flight) continue;
    ++part->lost;
    if (part->is_adjust() && MayPass(failure.kind)) continue;
    if (failure.kind == FailureClass::kConflict && part->lost < kMaxLost) continue;
    End(id, {.kind = PartOutcome::Kind::kFailed, .error = failure.error}, reports);
  }
}

void PendingParts::CompleteRepairs(const std::vector<PartId>& parts, PartReports& reports) {
  for (const PartId id : parts) {
    Part* part = queue_.Find(id);
    if (part == nullptr || part->kind != Part::Kind::kRepair || part->reported) continue;
    Report(*part, {.kind = PartOutcome::Kind::kFailed}, reports);
    part->reported = true;
  }
}

void PendingParts::Expire(Instant now, PartReports& reports) {
  std::vector<PartId> expired;
  for (const Part& part : queue_.all()) {
    const bool is_response_due = !part.reported && part.report_by <= now;
    if (is_response_due || part.drop_by <= now) expired.push_back(part.id);
  }
  for (const PartId id : expired) Expired(id, now, reports);
}

void PendingParts::Expired(PartId id, Instant now, PartReports& reports) {
  Part* found = queue_.Find(id);
  if (found == nullptr) return;  // it was removed with the adjust that it repeats
  Part& part = *found;
  // An adjust whose caller got a result is tried until its drop_by.
  const bool must_end = !part.in_flight && (part.drop_by <= now || !part.is_adjust());
  if (!part.reported) {
    PartOutcome late{.kind = PartOutcome::Kind::kFailed,
                     .in_doubt = part.repeated || !must_end,
                     .is_carried = part.in_flight,
                     .error = part.report_by > now && last_error_ ? *last_error_ : TooLate(key_)};
    // Only writes of other processes were in the way.
    const bool is_contended = part.kind == Part::Kind::kTake && part.lost > 0 && !late.in_doubt;
    if (is_contended) late = {.kind = PartOutcome::Kind::kContended};
    if (must_end) return End(id, std::move(late), reports);
    Report(part, std::move(late), reports);
    part.reported = true;
    return;
  }
  if (!must_end) return;
  End(id, {.kind = PartOutcome::Kind::kFailed, .error = TooLate(key_)}, reports);
}

void PendingParts::Fail(const Error& error, PartReports& reports) {
  const bool may_pass = error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
  std::vector<PartId> failed;
  for (const Part& part : queue_.all()) {
    const bool stays = part.kind == Part::Kind::kWait || (may_pass && part.is_adjust());
    if (!part.in_flight && !stays) failed.push_back(part.id);
  }
  for (const PartId id : failed) {
    End(id, {.kind = PartOutcome::Kind::kFailed, .error = error}, reports);
  }
}

void PendingParts::EndLooks(const std::optional<Error>& error, PartReports& reports) {
  while (const Part* look = queue_.FindLook()) {
    const auto kind = error ? PartOutcome::Kind::kFailed : PartOutcome::Kind::kSeen;
    End(look->id, {.kind = kind, .error = error}, reports);
  }
}

void PendingParts::NoteImage(PartId last) {
  for (Part& part : queue_.all()) part.has_image |= part.id <= last;
}

void PendingParts::Report(const Part& part, PartOutcome outcome, PartReports& reports) {
  // The outcome of an adjust is also reported without a caller: its id is to be remembered.
  outcome.call = part.reported ? 0 : part.call;
  outcome.in_doubt |= part.repeated;
  outcome.part = part.id;
  outcome.index = part.index;
  if (outcome.call != 0 || outcome.adjust_id) reports.outcomes.push_back(std::move(outcome));
}

void PendingParts::End(PartId id, PartOutcome outcome, PartReports& reports) {
  if (queue_.Find(id) == nullptr) return;  // it was removed with the adjust that it repeats
  const Part part = queue_.Remove(id);
  const bool has_no_caller =
      part.kind == Part::Kind::kGiveBack || part.reported || outcome.in_doubt;
  const bool is_lost = outcome.kind != PartOutcome::Kind::kApplied && part.repetition_of == 0;
  // No caller learns for certain that the tokens were not adjusted.
  if (part.is_adjust() && is_lost && has_no_caller) reports.forfeits += part.returns;
  for (const Part& other : std::vector<Part>(queue_.RepeatsOf(id))) {
    queue_.Remove(other.id);
    Report(other, outcome, reports);
  }
  if (part.kind == Part::Kind::kAdjust) outcome.adjust_id = part.adjust_id;
  Report(part, std::move(outcome), reports);
}

Instant PendingParts::wake() const {
  Instant wake = kNoTime;
  for (const Part& part : queue_.all()) {
    if (!part.reported) wake = std::min(wake, part.report_by);
    if (!part.in_flight) wake = std::min(wake, part.drop_by);
  }
  return wake;
}

}  // namespace weir::dynamo
