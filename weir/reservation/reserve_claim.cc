// One try of a Reserve: the calls to the store, and their results.
//
//   result of the claim                         next
//   a slot, first claimed by this try           Grant
//   a slot that an earlier try may have         Prolong, unless nine tenths of its life are left:
//     claimed (may_hold)                          renewed: Grant
//                                                 kNotFound: ClaimAnother
//                                                 in doubt, half of its life left: Grant
//                                                 otherwise: Unanswered
//   no slot                                     Full
//   kAlreadyExists and may_hold                 ClaimAnother: the slot of an earlier try expired
//   an error in doubt                           may_hold is set; FailOrWait
//   another error                               FailOrWait
#include <utility>

#include "weir/reservation/reserve_state.h"
#include "weir/reservation/reserved_slot.h"

namespace weir {
namespace {

// Returns whether a slot may be granted without a renewal.
bool IsNearlyWhole(milliseconds left, milliseconds ttl) { return left >= ttl - ttl / 10; }
// Returns whether a slot may be granted if the renewal is in doubt.
bool IsHalf(milliseconds left, milliseconds ttl) { return left >= ttl / 2; }

}  // namespace

SlotRef ReservationLimiter::State::NewSlot(const AccountKey& key) {
  const MutexLock lock(mutex_);
  const std::uint64_t high = rng_.Next();
  return {.key = key, .id = NewSlotId(high, rng_.Next())};
}

void ReservationLimiter::State::AskStore(CallPtr call) {
  if (!call->slot) call->slot = NewSlot(call->request.key);
  const SlotClaim claim{
      .slot = *call->slot, .limit = call->request.limit, .ttl = options_.reservation_ttl};
  const Deadline deadline = call->deadline;
  claims_.Add();
  slots_.Claim(
      claim, StoreNow(), deadline,
      [self = shared_from_this(), call = std::move(call)](Result<ClaimAnswer> got) mutable {
        self->Answered(std::move(call), std::move(got));
      });
}

void ReservationLimiter::State::Answered(CallPtr call, Result<ClaimAnswer> answer) {
  if (!answer) return Unanswered(std::move(call), std::move(answer.error()));
  call->failure.reset();
  if (!answer->slot) return Full(std::move(call), *answer);
  const milliseconds left = answer->slot->expires - StoreNow();
  const bool is_aged = call->may_hold && !IsNearlyWhole(left, options_.reservation_ttl);
  if (is_aged && !closed_) return Prolong(std::move(call), std::move(*answer->slot));
  Grant(std::move(call), std::move(*answer->slot));
}

// An earlier try claimed the slot. If the renewal is in doubt, the slot is granted for the rest of
// its life: otherwise a store that is slow to renew would never give the request a slot.
void ReservationLimiter::State::Prolong(CallPtr call, HeldSlot slot) {
  const SlotRef ref = *call->slot;
  const Deadline deadline = call->deadline;
  auto renewed = [self = shared_from_this(), call = std::move(call),
                  slot = std::move(slot)](Result<HeldSlot> got) mutable {
    if (got) return self->Grant(std::move(call), std::move(*got));
    if (got.error().code == Code::kNotFound) return self->ClaimAnother(std::move(call));
    const milliseconds left = slot.expires - self->StoreNow();
    if (IsInDoubt(got.error()) && IsHalf(left, self->options_.reservation_ttl)) {
      return self->Grant(std::move(call), std::move(slot));
    }
    self->Unanswered(std::move(call), std::move(got.error()));
  };
  slots_.Renew(ref, options_.reservation_ttl, StoreNow(), deadline, std::move(renewed));
}

// The slot that an earlier try claimed has expired, and a store may refuse its id.
void ReservationLimiter::State::ClaimAnother(CallPtr call) {
  call->slot.reset();
  call->may_hold = false;
  AskStore(std::move(call));
}

void ReservationLimiter::State::Unanswered(CallPtr call, Error error) {
  if (call->may_hold && error.code == Code::kAlreadyExists) return ClaimAnother(std::move(call));
  if (IsInDoubt(error)) call->may_hold = true;
  FailOrWait(std::move(call), std::move(error));
}

}  // namespace weir
