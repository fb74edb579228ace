// One try of a Reserve: the calls to the store, and their results.
//
//   result of the claim                         next
//   a slot, first claimed by this try           Grant
//   a slot that an earlier try may have
//     claimed (claim_in_doubt):
//     at least nine tenths of its life left     Grant
//     less                                      RenewClaimed; the result of the renewal:
//                                                 a renewed slot: Grant
//                                                 kNotFound: ClaimAnother
//                                                 in doubt, at least half of its life left: Grant
//                                                 otherwise: OnStoreError
//   no slot                                     OnFull
//   kAlreadyExists and claim_in_doubt           ClaimAnother: the slot of an earlier try expired
//   an error in doubt                           claim_in_doubt is set; FailOrWait
//   another error                               FailOrWait
#include <utility>

#include "weir/reservation/reserve_state.h"
#include "weir/reservation/reserved_slot.h"

namespace weir {
namespace {

// Returns whether a slot may be granted without a renewal.
bool IsNearlyWhole(milliseconds left, milliseconds ttl) { return left >= ttl - ttl / 10; }
// Returns whether a slot may be granted if the renewal is in doubt.
bool IsAtLeastHalf(milliseconds left, milliseconds ttl) { return left >= ttl / 2; }

}  // namespace

SlotRef ReservationLimiter::State::NewSlot(const AccountKey& key) {
  const MutexLock lock(mutex_);
  const std::uint64_t high = rng_.Next();
  return {.key = key, .id = NewSlotId(high, rng_.Next())};
}

void ReservationLimiter::State::CallStore(CallPtr call) {
  if (!call->slot) call->slot = NewSlot(call->request.key);
  const SlotClaim claim{
      .slot = *call->slot, .limit = call->request.limit, .ttl = options_.reservation_ttl};
  const Deadline deadline = call->deadline;
  claims_.Add();
  slots_.Claim(
      claim, StoreNow(), deadline,
      [self = shared_from_this(), call = std::move(call)](Result<ClaimResult> result) mutable {
        self->OnClaimResult(std::move(call), std::move(result));
      });
}

void ReservationLimiter::State::OnClaimResult(CallPtr call, Result<ClaimResult> result) {
  if (!result) return OnStoreError(std::move(call), std::move(result.error()));
  call->failure.reset();
  if (!result->slot) return OnFull(std::move(call), *result);
  const milliseconds left = result->slot->expires - StoreNow();
  const bool is_aged = call->claim_in_doubt && !IsNearlyWhole(left, options_.reservation_ttl);
  if (is_aged && !closed_) return RenewClaimed(std::move(call), std::move(*result->slot));
  Grant(std::move(call), std::move(*result->slot));
}

// An earlier try claimed the slot. If the renewal is in doubt, the slot is granted for the rest of
// its life if at least half is left: otherwise a store that is slow to renew would never give the
// request a slot.
void ReservationLimiter::State::RenewClaimed(CallPtr call, HeldSlot slot) {
  const SlotRef ref = *call->slot;
  const Deadline deadline = call->deadline;
  auto on_renewed = [self = shared_from_this(), call = std::move(call),
                     slot = std::move(slot)](Result<HeldSlot> renewed) mutable {
    if (renewed) return self->Grant(std::move(call), std::move(*renewed));
    if (renewed.error().code == Code::kNotFound) return self->ClaimAnother(std::move(call));
    const milliseconds left = slot.expires - self->StoreNow();
    if (IsInDoubt(renewed.error()) && IsAtLeastHalf(left, self->options_.reservation_ttl)) {
      return self->Grant(std::move(call), std::move(slot));
    }
    self->OnStoreError(std::move(call), std::move(renewed.error()));
  };
  slots_.Renew(ref, options_.reservation_ttl, StoreNow(), deadline, std::move(on_renewed));
}

// The slot that an earlier try claimed has expired, and a store may refuse its id.
void ReservationLimiter::State::ClaimAnother(CallPtr call) {
  call->slot.reset();
  call->claim_in_doubt = false;
  CallStore(std::move(call));
}

void ReservationLimiter::State::OnStoreError(CallPtr call, Error error) {
  if (call->claim_in_doubt && error.code == Code::kAlreadyExists)
    return ClaimAnother(std::move(call));
  if (IsInDoubt(error)) call->claim_in_doubt = true;
  FailOrWait(std::move(call), std::move(error));
}

}  // namespace weir
