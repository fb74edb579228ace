#include "weir/rate_limiter_py/slots/slot_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/model/quoted.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Of;
using dynamo::Write;

// Indexes of the actions of a transaction.
constexpr std::size_t kSlot = 0;
constexpr std::size_t kRosterAction = 1;  // the roster

tl::unexpected<Error> TooManyRounds(std::string_view id) {
  return Fail(Code::kUnavailable,
              fmt::format("slot {}: others change it all the time; try again", Quoted(id)));
}

Write UpdateWrite(const HeldSlot& seen, const HeldSlot& moved) {
  Write update{.key = SlotKey({seen.key, seen.id}), .item = {}, .expression = AsSeen(seen)};
  update.expression.Set(kExpirationTime, Of(SecondOf(moved)));
  update.expression.Set(kResourceId, Of(moved.resource_id));
  return update;
}

// Requires that the resource has not ended since the slot was claimed, or that its tombstone has
// expired.
Write NotEndedCheck(const HeldSlot& moved, UnixMillis now) {
  Write check{.kind = Write::Kind::kCheck,
              .key = EndedKey(moved.resource_id),
              .item = {},
              .expression = {}};
  dynamo::Expression& e = check.expression;
  e.Require(fmt::format("(attribute_not_exists({0}) OR {0} < {1} OR {2} <= {3})", e.Name(kEndedAt),
                        e.Of(Of(moved.claimed.value)), e.Name(kExpirationTime),
                        e.Of(Of(dynamo::WholeSeconds(now)))));
  return check;
}

}  // namespace

Result<std::optional<HeldSlot>> ReleaseCall::ReadTarget(const dynamo::Item& item) const {
  return target_.key ? ReadHeld(item, *target_.key, kExpiredToo) : ReadSlot(item);
}

ReleaseCall::Step ReleaseCall::PlanStep(const std::optional<dynamo::Item>& item) {
  if (!item) return false;
  const auto slot = ReadTarget(*item);
  if (!slot) return Fail(slot.error());
  if (!*slot) return false;
  if (const auto& fence = target_.fence) {
    if ((*slot)->resource_id != fence->resource_id) return false;
    if ((*slot)->claimed > fence->claimed_until) return false;
    if (fence->spares_undated && (*slot)->claimed == UnixMillis{0}) return false;
  }
  const bool allows_bound = rounds_ == 0 || slot_.bound();
  slot_ = **slot;
  is_counted_ = IsOurs(slot_.id);
  if (is_counted_) return SendWrite();
  // An expired slot of rate-limiter-py's clients: DynamoDB deletes it.
  if (!IsHeld()) return false;
  if (allows_bound || !slot_.bound()) return SendWrite();
  return Fail(Code::kAborted, fmt::format("slot {}: it was bound to {} in the meantime; to release "
                                          "it nevertheless, repeat the release",
                                          Quoted(slot_.id), Quoted(slot_.resource_id)));
}

ReleaseCall::Step ReleaseCall::SendWrite() const {
  Writes writes = {{.kind = Write::Kind::kDelete,
                    .key = target_.place,
                    .item = {},
                    .expression = AsSeen(slot_)}};
  if (is_counted_) writes.push_back(GiveBackWrite(slot_.key, SecondOf(slot_)));
  return AnyTime(std::move(writes));
}

ReleaseCall::Step ReleaseCall::OnWrite(const WriteOutcome& outcome, UnixMillis) {
  if (outcome) return IsHeld();
  const dynamo::WriteFailure& failure = outcome.error();
  const bool has_changed = IsRefusedBy(failure, kSlot);
  if (!has_changed && !IsRefusedBy(failure, kRosterAction)) return Fail(failure.error);
  if (++rounds_ > kMaxRounds) return TooManyRounds(slot_.id);
  if (has_changed) return PlanStep(failure.reasons[kSlot].item);
  is_counted_ = false;  // the roster has dropped it
  return SendWrite();
}

UpdateSlotCall::Step UpdateSlotCall::OnRead(const Items& items) {
  if (release_) return OnEnded(release_->OnRead(items));
  return PlanStep(items[0]);
}

tl::unexpected<Error> UpdateSlotCall::NotHeld() const {
  return Fail(Code::kNotFound,
              fmt::format("slot {} for {}: it is not held any more; claim another",
                          Quoted(move_.slot.id), Quoted(Describe(move_.slot.key))));
}

UpdateSlotCall::Step UpdateSlotCall::PlanStep(const std::optional<dynamo::Item>& item) {
  if (!item) return NotHeld();
  const auto slot = ReadHeld(*item, move_.slot.key, now_);
  if (!slot) return Fail(slot.error());
  if (!*slot) return NotHeld();
  seen_ = moved_ = **slot;
  moved_.resource_id = move_.resource_id.value_or(seen_.resource_id);
  if (seen_.bound() && moved_.resource_id != seen_.resource_id) {
    return Fail(Code::kFailedPrecondition,
                fmt::format("slot {}: it is bound to {}; claim another for {}", Quoted(seen_.id),
                            Quoted(seen_.resource_id), Quoted(moved_.resource_id)));
  }
  binds_ = move_.resource_id.has_value() && !seen_.bound();
  moved_.expires = AtSecond(ExpirySecond(now_, move_.ttl, 0));
  // An expiry is never moved to an earlier time.
  if (!binds_ && moved_.expires <= seen_.expires) return seen_;
  return SendMove();
}

// `make(now)` returns the write of the roster; `now` is the time at which the transaction is sent.
template <class MakeRoster>
UpdateSlotCall::Step UpdateSlotCall::SendWrite(MakeRoster make) const {
  Writes others = {UpdateWrite(seen_, moved_)};
  if (binds_) others.push_back(NotEndedCheck(moved_, now_));
  if (!is_ours()) return AnyTime(std::move(others));
  return Transaction([others = std::move(others), make = std::move(make)](UnixMillis now) {
    Writes writes = others;
    writes.insert(writes.begin() + kRosterAction, make(now));
    return writes;
  });
}

UpdateSlotCall::Step UpdateSlotCall::SendMove() const {
  return SendWrite([seen = seen_, to = SecondOf(moved_)](UnixMillis now) {
    return MoveWrite(seen.key, {SecondOf(seen), to, now});
  });
}

UpdateSlotCall::Step UpdateSlotCall::OnWrite(const WriteOutcome& outcome, UnixMillis now) {
  if (release_) return OnEnded(release_->OnWrite(outcome, now));
  if (outcome) return moved_;
  const dynamo::WriteFailure& failure = outcome.error();
  // The index of the check of the tombstone, the last action.
  const std::size_t end_check = is_ours() ? kRosterAction + 1 : kRosterAction;
  const bool has_changed = IsRefusedBy(failure, kSlot);
  if (!has_changed && binds_ && IsRefusedBy(failure, end_check)) {
    // The resource has ended: the slot is released, if it is still as it was read.
    release_.emplace(ReleaseTarget{.place = SlotKey(move_.slot),
                                   .key = move_.slot.key,
                                   .fence = ReleaseFence{seen_.id, seen_.claimed}},
                     now_);
    return OnEnded(release_->Begin());
  }
  if (!has_changed && !(is_ours() && IsRefusedBy(failure, kRosterAction)))
    return Fail(failure.error);
  if (++rounds_ > kMaxRounds) return TooManyRounds(seen_.id);
  return has_changed ? PlanStep(failure.reasons[kSlot].item)
                     : OnRoster(failure.reasons[kRosterAction].item);
}

UpdateSlotCall::Step UpdateSlotCall::OnRoster(const std::optional<dynamo::Item>& item) {
  const auto roster = item ? ReadRoster(*item) : Roster{};
  if (!roster) return Fail(roster.error());
  const std::int64_t from = SecondOf(seen_);
  // The second at which the slot expires was dropped, so another holder may have its capacity.
  if (from <= roster->dropped_until) return NotHeld();
  const std::int64_t to = SecondOf(moved_);
  // A slot must not move to a second that was dropped.
  if (to <= roster->dropped_until)
    moved_.expires = AtSecond(ExpirySecond(now_, move_.ttl, roster->dropped_until));
  if (roster->Counts(from) && !roster->IsSweepDue()) return SendMove();
  return SendWrite([key = seen_.key, seen = *roster, from, to = SecondOf(moved_)](UnixMillis now) {
    Roster after = seen;
    // If the second `from` is neither dropped nor counted, the roster was lost: the slot is counted
    // again.
    if (after.Counts(from)) {
      after.Move(from, to, now);
    } else {
      after.AddSlot(to, now);
    }
    return ReplaceWrite(key, seen, after);
  });
}

UpdateSlotCall::Step UpdateSlotCall::OnEnded(ReleaseCall::Step step) const {
  return ForwardStep<Step>(std::move(step), [this](Result<bool> released) -> Step {
    if (!released) return Fail(std::move(released.error()));
    // Another client released the slot, or bound it to another resource.
    if (!*released) return NotHeld();
    return Fail(
        Code::kFailedPrecondition,
        fmt::format("slot {} for {}: {} has ended already: its slot is free again",
                    Quoted(seen_.id), Quoted(Describe(seen_.key)), Quoted(moved_.resource_id)));
  });
}

}  // namespace weir::rate_limiter_py
