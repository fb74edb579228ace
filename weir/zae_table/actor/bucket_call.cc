#include "weir/zae_table/actor/bucket_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace weir::dynamo {
namespace {

using Outcome = PartOutcome::Kind;

// How long adjusts and returns are tried.
constexpr nanoseconds kAdjustPatience = std::chrono::seconds(10);

// Appends the status of each limit of the charge.
void AddStatuses(const Charge& charge, const TakeVerdict& verdict, std::vector<LimitStatus>& to) {
  const Target& target = *charge.target;
  for (std::size_t i = 0; i < verdict.available.size(); ++i) {
    const milliseconds wait = i < verdict.waits.size() ? verdict.waits[i] : milliseconds(0);
    to.push_back({.entity = target.key.entity,
                  .resource = target.key.resource,
                  .limit = target.limits[i].name,
                  .capacity = target.limits[i].quota.capacity,
                  .available = verdict.available[i],
                  .requested = charge.amounts[i],
                  .exceeded = wait > milliseconds(0),
                  .retry_after = wait});
  }
}

// Returns true if a limit has less than one token.
bool LacksToken(const TakeVerdict& verdict) {
  return std::ranges::any_of(verdict.available,
                             [](std::int64_t available) { return available < kMillitokens; });
}

bool IsNothing(const Charge& charge) {
  return std::ranges::all_of(charge.amounts, [](std::int64_t amount) { return amount == 0; });
}

}  // namespace

BucketCall::Next BucketCall::Begin(Route route, CallActors& actors) {
  route_ = std::move(route);
  parts_.assign(route_.parts.size(), {});
  order_.resize(parts_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (order_.size() > 1) {
    std::ranges::sort(order_, {}, [this](std::size_t i) -> const BucketKey& { return KeyOf(i); });
  }
  pending_ = 0;
  failure_.reset();
  return JudgeOpenParts(actors);
}

AdjustId BucketCall::AdjustIdOf(std::size_t index) const {
  if (request_.kind != CallRequest::Kind::kAdjust) return request_.adjust_id;
  BucketKey paid = KeyOf(index);
  paid.shard = route_.parts[index].shard;
  return IdOfPart(request_.adjust_id, paid, KeyOf(index));
}

Part BucketCall::PartOf(std::size_t index, Part::Kind kind) const {
  const Charge& charge = route_.parts[index];
  Part part{.kind = kind,
            .call = id_,
            .index = index,
            .target = charge.target,
            .now = request_.now,
            .began_at = request_.began_at,
            .report_by = request_.deadline.at(),
            .drop_by = request_.deadline.at(),
            .resolved_at = charge.resolved_at,
            .shards = route_.shards[index],
            .adjust_id = AdjustIdOf(index),
            .paid = charge.shard,
            .is_recorded = request_.is_recorded,
            .counts_by = kind == Part::Kind::kAdjust ? request_.counts_by : kAnyTime};
  part.amounts.assign(charge.amounts.begin(), charge.amounts.end());
  return part;
}

BucketCall::Next BucketCall::JudgeOpenParts(CallActors& actors) {
  switch (request_.kind) {
    case CallRequest::Kind::kAcquire:
      return JudgeTakes(actors);
    case CallRequest::Kind::kAdjust:
      return JudgeAdjusts(actors);
    case CallRequest::Kind::kConform:
      return QueueParts(actors);
  }
  return Next::kWaits;
}

// No part is queued until the images of all buckets are known and no bucket refuses. A refusal is
// not final while images are missing: they are read first, so that the decision has the wait and
// the balances of all buckets.
BucketCall::Next BucketCall::JudgeTakes(CallActors& actors) {
  using Kind = Opinion::Kind;
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].stage != Stage::kOpen) continue;
    const Part part = PartOf(i, Part::Kind::kTake);
    Opinion opinion = actors.At(KeyOf(i)).Judge(part, actors.moment());
    parts_[i].verdict = std::move(opinion.verdict);
    if (opinion.kind == Kind::kUnknown) unknown.push_back(i);
    if (opinion.kind == Kind::kRefused) {
      actors.Refresh(KeyOf(i));
      failure_ = failure_.value_or(Failure{Outcome::kRefused});
    }
    if (opinion.kind == Kind::kOutdated) failure_ = Failure{Outcome::kOutdated};
    if (opinion.kind == Kind::kDivided)
      NoteOutcome(i, {.kind = Outcome::kDivided, .needs_shards = opinion.needs_shards});
  }
  if (failure_ && (failure_->kind != Outcome::kRefused || unknown.empty())) return Fail(actors);
  failure_.reset();
  if (!unknown.empty()) return StartLooks(unknown, actors);
  return QueueParts(actors);
}

// An adjust that was counted or forfeited before is not queued again. If the debt would exceed
// kMaxDebt, the call fails before any part is queued, unless it counts in another bucket already:
// then the other parts are written all the same.
BucketCall::Next BucketCall::JudgeAdjusts(CallActors& actors) {
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].stage != Stage::kOpen) continue;
    const Part part = PartOf(i, Part::Kind::kAdjust);
    if (IsNothing(route_.parts[i])) {
      parts_[i].stage = Stage::kApplied;
      continue;
    }
    if (auto result = actors.FindAdjustResult(KeyOf(i), AdjustIdOf(i))) {
      if (!*result) NoteFailure({Outcome::kFailed, result->error()});
      parts_[i].stage = *result ? Stage::kApplied : Stage::kEnded;
      continue;
    }
    const std::optional<Status> status = actors.At(KeyOf(i)).CheckAdjust(part, actors.moment());
    if (!status) unknown.push_back(i);
    if (!status || *status) continue;
    if (!MayCount(actors)) return EndWith(weir::Fail(status->error()));
    NoteFailure({Outcome::kFailed, status->error()});
    parts_[i].stage = Stage::kEnded;
  }
  if (!unknown.empty()) return StartLooks(unknown, actors);
  return QueueParts(actors);
}

BucketCall::Next BucketCall::StartLooks(const std::vector<std::size_t>& unknown,
                                        CallActors& actors) {
  phase_ = Phase::kLooking;
  for (const std::size_t i : unknown) Submit(i, Part::Kind::kLook, actors);
  return Next::kWaits;
}

// A look is not refused, but its caller may take a limit without a token for a refusal.
bool BucketCall::IsLook() const {
  return request_.kind == CallRequest::Kind::kAcquire &&
         std::ranges::all_of(route_.parts, IsNothing);
}

// The limits are stored before the result, so that its waits and its balances are correct, or after
// the debits of an adjust that stores limits.
bool BucketCall::StartRepairs(CallActors& actors) {
  if (std::exchange(is_repaired_, true)) return false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part part = PartOf(i, Part::Kind::kTake);
    if (part.is_nothing() && !LacksToken(parts_[i].verdict)) continue;
    if (!actors.At(KeyOf(i)).WantsRepair(part, actors.moment())) continue;
    Submit(i, Part::Kind::kRepair, actors);
  }
  if (pending_ == 0) return false;
  phase_ = Phase::kRepairing;
  return true;
}

void BucketCall::Submit(std::size_t index, Part::Kind kind, CallActors& actors) {
  Part part = PartOf(index, kind);
  if (kind == Part::Kind::kLook || kind == Part::Kind::kWait) part.amounts.clear();
  if (kind == Part::Kind::kRepair) std::ranges::fill(part.amounts, 0);
  if (kind == Part::Kind::kAdjust) {
    adjusts_ = true;
    part.drop_by = request_.began_at + kAdjustPatience;
    if (!request_.deadline.is_never()) part.drop_by = std::max(part.drop_by, part.report_by);
  }
  parts_[index].id = actors.Accept(std::move(part));
  parts_[index].stage = Stage::kPending;
  ++pending_;
}

// A take of 0 tokens needs no write: the judgement is its result.
BucketCall::Next BucketCall::QueueParts(CallActors& actors) {
  phase_ = Phase::kWriting;
  const auto kind = request_.kind == CallRequest::Kind::kAcquire  ? Part::Kind::kTake
                    : request_.kind == CallRequest::Kind::kAdjust ? Part::Kind::kAdjust
                                                                  : Part::Kind::kConform;
  for (const std::size_t i : order_) {
    if (parts_[i].stage != Stage::kOpen) continue;
    if (kind == Part::Kind::kTake && IsNothing(route_.parts[i])) {
      parts_[i].stage = Stage::kEnded;
      continue;
    }
    Submit(i, kind, actors);
    if (one_by_one_) break;
  }
  return pending_ > 0 ? Next::kWaits : Conclude(actors);
}

void BucketCall::NoteOutcome(std::size_t index, const PartOutcome& outcome) {
  in_doubt_ = in_doubt_ || outcome.in_doubt;
  CallPart& part = parts_[index];
  part.stage = outcome.kind == Outcome::kApplied ? Stage::kApplied
               : outcome.is_carried              ? Stage::kInFlight
                                                 : Stage::kEnded;
  if (!outcome.available.empty()) {
    part.verdict = {.available = outcome.available, .wait = outcome.wait, .waits = outcome.waits};
  }
  if (outcome.needs_shards) {
    const BucketKey bucket{KeyOf(index).entity, KeyOf(index).resource, 0};
    if (std::ranges::find(incomplete_, bucket) == incomplete_.end()) incomplete_.push_back(bucket);
  }
  if (outcome.kind == Outcome::kApplied || outcome.kind == Outcome::kSeen) return;
  NoteFailure({outcome.kind, outcome.error});
}

// If a bucket has other shards than assumed, the call begins again, whatever else has failed. Of
// the errors of an adjust, one after which a repetition may complete it replaces a final one.
void BucketCall::NoteFailure(Failure failure) {
  const auto is_final = [](const Failure& one) {
    return one.error && (one.error->is_partial || IsDefinite(one.error->code));
  };
  const bool is_adjust = request_.kind == CallRequest::Kind::kAdjust;
  const bool may_complete = is_adjust && failure_ && is_final(*failure_) && !is_final(failure);
  if (!failure_ || failure.kind == Outcome::kDivided || may_complete) failure_ = std::move(failure);
}

// Several outcomes of one event are passed one by one, and the call may have begun a new phase
// after the first of them. So every outcome is checked against the identifier of the pending part.
BucketCall::Next BucketCall::OnOutcome(const PartOutcome& outcome, CallActors& actors) {
  const bool is_awaited = outcome.index < parts_.size() && parts_[outcome.index].id == outcome.part;
  if (!is_awaited) return Next::kWaits;
  --pending_;
  // Of an adjust, one bucket may be too late before the deadline (CountsTooLate): its others count.
  const bool is_adjust_written =
      request_.kind == CallRequest::Kind::kAdjust && phase_ == Phase::kWriting;
  const bool is_late =
      outcome.error && outcome.error->code == Code::kDeadlineExceeded && !is_adjust_written;
  if (phase_ == Phase::kReturning) {
    in_doubt_ = in_doubt_ || outcome.kind != Outcome::kApplied;
    if (is_late) return EndAtDeadline(actors);
    return pending_ > 0 ? Next::kWaits : Conclude(actors);
  }
  if (phase_ == Phase::kAwaitingShards) {
    failure_ = Failure{outcome.kind, outcome.error};
    if (!outcome.error) return Conclude(actors);
    GiveUp(*outcome.error, actors);
    return Next::kEnded;
  }
  const bool is_expired = request_.deadline.ExpiredAt(actors.moment().at);
  if (phase_ == Phase::kRepairing) {
    if (pending_ > 0) return Next::kWaits;
    if (is_expired || request_.kind == CallRequest::Kind::kAdjust) return Conclude(actors);
    failure_.reset();
    for (CallPart& part : parts_) part.stage = Stage::kOpen;
    return JudgeOpenParts(actors);
  }
  NoteOutcome(outcome.index, outcome);
  if (phase_ == Phase::kDeadlinePassed) return EndAtDeadline(actors);
  const bool is_seen = phase_ == Phase::kLooking && outcome.kind == Outcome::kSeen;
  if (is_seen) parts_[outcome.index].stage = Stage::kOpen;
  if (!is_seen && (is_late || (failure_ && is_expired))) return EndAtDeadline(actors);
  const bool is_acquire = request_.kind == CallRequest::Kind::kAcquire;
  if (!is_seen && failure_ && is_acquire) return Fail(actors);
  if (pending_ > 0) return Next::kWaits;
  if (phase_ == Phase::kLooking) return EndLooks(actors);
  const bool has_more =
      std::ranges::any_of(parts_, [](const CallPart& part) { return part.stage == Stage::kOpen; });
  return has_more && !failure_ ? JudgeOpenParts(actors) : Conclude(actors);
}

// An adjust of which nothing counts yet changes nothing if one of its buckets cannot be read. One
// that counts in a bucket is written to all that can be read.
BucketCall::Next BucketCall::EndLooks(CallActors& actors) {
  const bool is_divided = failure_ && failure_->kind == Outcome::kDivided;
  return is_divided || (failure_ && !MayCount(actors)) ? Conclude(actors) : JudgeOpenParts(actors);
}

// The phase stays the same until the carried parts have ended: OnOutcome calls Fail again for each,
// since failure_ is set.
BucketCall::Next BucketCall::Fail(CallActors& actors) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    CallPart& part = parts_[i];
    if (part.stage != Stage::kPending) continue;
    const PendingParts::Withdrawal withdrawn = actors.Modify(KeyOf(i)).Withdraw(part.id);
    in_doubt_ = in_doubt_ || withdrawn.in_doubt;
    if (!withdrawn.is_gone) continue;
    part.stage = Stage::kEnded;
    --pending_;
  }
  return pending_ > 0 ? Next::kWaits : GiveBack(actors);
}

// The returns are parts of the call, which waits for them before it reports its refusal. A refused
// call is then tried again once; one that failed for another reason is not.
BucketCall::Next BucketCall::GiveBack(CallActors& actors) {
  phase_ = Phase::kReturning;
  bool had_taken = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].stage != Stage::kApplied) continue;
    had_taken = true;
    Part back = PartOf(i, Part::Kind::kGiveBack);
    for (std::int64_t& amount : back.amounts) amount = -amount;
    back.now = DateOf(back, actors.moment().at);
    back.began_at = actors.moment().at;
    back.drop_by = back.began_at + kAdjustPatience;
    parts_[i].id = actors.Accept(std::move(back));
    parts_[i].stage = Stage::kEnded;
    ++pending_;
  }
  if (!had_taken) return Conclude(actors);
  repeats_ = failure_->kind == Outcome::kRefused && !one_by_one_;
  return Next::kWaits;
}

// The call does not wait for its parts any more. Their actors return tokens that are taken for it,
// or leave them charged (AcquireAndKeep). If a part is pending here but not waiting in its actor,
// its outcome is in the protocol's queue: that outcome must be processed first, because it shows
// whether the tokens were taken.
BucketCall::Next BucketCall::EndAtDeadline(CallActors& actors) {
  repeats_ = false;
  const bool takes = request_.kind == CallRequest::Kind::kAcquire && phase_ != Phase::kReturning;
  if (takes) {
    phase_ = Phase::kDeadlinePassed;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const bool is_pending = parts_[i].stage == Stage::kPending;
      if (is_pending && !actors.At(KeyOf(i)).IsWaiting(parts_[i].id)) return Next::kWaits;
    }
    const bool keeps = KeepsAfterDeadline();
    for (std::size_t i = 0; i < parts_.size(); ++i) SettleOrHandOver(i, keeps, actors);
  }
  pending_ = 0;
  return Conclude(actors);
}

void BucketCall::AwaitShards(CallActors& actors) {
  phase_ = Phase::kAwaitingShards;
  Submit(0, Part::Kind::kWait, actors);
}

void BucketCall::EndWait(CallActors& actors) {
  actors.Modify(KeyOf(0)).Withdraw(parts_.front().id);
  pending_ = 0;
}

void BucketCall::GiveUp(Error error, CallActors& actors) {
  failure_ = Failure{Outcome::kFailed, std::move(error)};
  for (CallPart& part : parts_) part.stage = Stage::kEnded;
  if (KeepsAfterDeadline()) {
    for (std::size_t i = 0; i < parts_.size(); ++i) SettleOrHandOver(i, true, actors);
  }
  result_ = weir::Fail(ToCaller(*failure_->error, actors));
}

bool BucketCall::KeepsAfterDeadline() const {
  return request_.keeps && failure_ && failure_->error &&
         failure_->error->code == Code::kDeadlineExceeded;
}

// A part that is gone from its actor, or has ended, is settled here: without `keeps`,
// taken tokens are returned; with it, tokens that were not taken are debited, in shard 0 if the
// shard does not exist. A part that a write carries is settled by its actor.
void BucketCall::SettleOrHandOver(std::size_t index, bool keeps, CallActors& actors) {
  CallPart& part = parts_[index];
  bool is_taken = part.stage == Stage::kApplied;
  if (part.stage == Stage::kPending || part.stage == Stage::kInFlight) {
    const auto dropped = actors.Modify(KeyOf(index)).Drop(part.id, keeps);
    in_doubt_ = in_doubt_ || dropped.in_doubt;
    if (!dropped.is_gone) return;
    is_taken = false;
  }
  if (is_taken == keeps) return;
  Part settled = PartOf(index, Part::Kind::kTake);
  if (settled.is_nothing()) return;
  settled.caller_keeps_tokens = keeps;
  const bool is_absent = keeps && actors.At(KeyOf(index)).seen().is_absent();
  if (is_absent) settled.target = InShard(*settled.target, 0);
  // Debits the tokens if the caller keeps them, and returns them otherwise.
  actors.Modify(settled.target->key).GiveBack(std::move(settled), actors.moment());
}

// The order matters: a call that was refused half-way is tried again before its limits are
// repaired, and repairs precede the result because it depends on them.
BucketCall::Next BucketCall::Conclude(CallActors& actors) {
  if (!failure_) {
    const bool stores_limits = request_.stores_limits && adjusts_;
    if ((IsLook() || stores_limits) && StartRepairs(actors)) return Next::kWaits;
    return EndWith(BuildDecision(true));
  }
  if (std::exchange(repeats_, false)) {
    one_by_one_ = true;
    failure_.reset();
    parts_.assign(parts_.size(), {});
    return JudgeOpenParts(actors);
  }
  switch (failure_->kind) {
    case Outcome::kRefused:
      if (StartRepairs(actors)) return Next::kWaits;
      result_ = BuildDecision(false);
      return Next::kRefused;
    case Outcome::kDivided:
      return Next::kReroutes;
    case Outcome::kContended:
      return EndContended();
    case Outcome::kOutdated: {
      Decision outdated;
      outdated.outdated = true;
      outdated.maybe_charged_twice = in_doubt_;
      return EndWith(std::move(outdated));
    }
    default:
      return EndWithError(*failure_->error, actors);
  }
}

BucketCall::Next BucketCall::EndWithError(Error error, CallActors& actors) {
  return EndWith(weir::Fail(ToCaller(std::move(error), actors)));
}

bool BucketCall::MayCount(CallActors& actors) const {
  return std::ranges::any_of(order_, [&](std::size_t i) {
    return !IsNothing(route_.parts[i]) && actors.MayCountAdjust(KeyOf(i), AdjustIdOf(i));
  });
}

Error BucketCall::ToCaller(Error error, CallActors& actors) const {
  const bool is_adjust = request_.kind == CallRequest::Kind::kAdjust;
  if (!is_adjust || !IsDefinite(error.code) || !MayCount(actors)) return error;
  error.message += "; other buckets of the call are adjusted, or may be";
  if (error.code == Code::kPermissionDenied || error.code == Code::kUnauthenticated) {
    error.code = Code::kUnavailable;  // permissions change: a repetition may complete it
  } else {
    error.is_partial = true;
  }
  return error;
}

// Adjusts and conforms cannot be refused, so contention is an error for them.
BucketCall::Next BucketCall::EndContended() {
  if (request_.kind != CallRequest::Kind::kAcquire) {
    const BucketKey& key = KeyOf(0);
    return EndWith(weir::Fail(Code::kUnavailable,
                              fmt::format("{}/{}: too many processes, or requests of this process, "
                                          "write to the bucket; try again",
                                          key.entity, key.resource)));
  }
  Decision contended = BuildDecision(false);
  contended.contended = true;
  contended.retry_after = kContendedWait;
  return EndWith(std::move(contended));
}

BucketCall::Next BucketCall::EndWith(Result<Decision> result) {
  result_ = std::move(result);
  return Next::kEnded;
}

Decision BucketCall::BuildDecision(bool admitted) const {
  Decision decision{.admitted = admitted, .maybe_charged_twice = in_doubt_, .limits = {}};
  if (request_.kind != CallRequest::Kind::kAcquire) return decision;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    TakeVerdict verdict = parts_[i].verdict;
    if (admitted) verdict.waits.clear();
    if (!admitted) decision.retry_after = std::max(decision.retry_after, verdict.wait);
    AddStatuses(route_.parts[i], verdict, decision.limits);
  }
  return MergeDecision(std::move(decision), route_, request_.charges);
}

}  // namespace weir::dynamo
