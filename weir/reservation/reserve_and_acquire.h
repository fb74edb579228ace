// A slot and tokens at once: how many run, and how many begin in a time.
// Mechanism: docs/design/reservations.md.
#pragma once

#include <optional>
#include <utility>

#include "weir/base/done.h"
#include "weir/limiter/limiter.h"
#include "weir/reservation/reservation_limiter.h"

namespace weir {

/// Both must outlive the call.
struct SlotsAndRates {
  ReservationLimiter& slots;
  Limiter& rates;
};

/// The views must live until the call returns; what is needed later is copied.
struct SlotAndRateRequest {
  ReserveRequest slot;
  AcquireRequest rate;
};

/// Both, or the refusal of the one that refused.
class SlotAndRate {
 public:
  SlotAndRate(Reservation reservation, Outcome rate)
      : reservation_(std::move(reservation)), rate_(std::move(rate)) {}
  explicit SlotAndRate(SlotRefusal refusal) : slot_refusal_(refusal) {}
  explicit SlotAndRate(Outcome refused) : rate_(std::move(refused)) {}

  bool granted() const { return !slot_refusal_ && rate_->admitted(); }
  /// REQUIRES: granted(), for these two. The lease is not active where the rates' store was away
  /// and the policy was to allow.
  Reservation reservation() && { return std::move(reservation_); }
  Lease lease() && { return (*std::move(rate_)).lease(); }

  /// Where there was no slot; then no tokens were asked for.
  const std::optional<SlotRefusal>& slot_refusal() const { return slot_refusal_; }
  /// What was said about the tokens; null where there was no slot.
  const Decision* decision() const { return rate_ ? &rate_->decision() : nullptr; }

 private:
  Reservation reservation_;
  std::optional<Outcome> rate_;
  std::optional<SlotRefusal> slot_refusal_;
};

/// The slot first, since it is the scarcer one and costs nothing to give back; then the tokens.
/// Where these are refused or fail the slot is released, without waiting for that. Each request may
/// wait, one after the other; the slot is held (for `reservation_ttl`) while the tokens are waited
/// for. If the slot expires meanwhile, the tokens are given back, without waiting for that, and the
/// error is kAborted; a return whose result is lost is not sent again. Leaving the outcome's scope
/// unused releases the slot; the tokens count, or come back where an exception unwinds, as a
/// Lease's do. Errors and deadline as those of Reserve and Acquire.
void ReserveAndAcquire(SlotsAndRates limiters, const SlotAndRateRequest& request, Deadline deadline,
                       Done<SlotAndRate> done);
/// Blocks. REQUIRES: not called on a scheduler's own thread.
[[nodiscard]] Result<SlotAndRate> ReserveAndAcquire(SlotsAndRates limiters,
                                                    const SlotAndRateRequest& request,
                                                    Deadline deadline);

}  // namespace weir
