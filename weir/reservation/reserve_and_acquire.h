// Acquires a slot and tokens, or neither: limits how many jobs run at once and how many begin in a
// given time. Mechanism: docs/design/reservations.md.
#pragma once

#include <optional>
#include <utility>

#include "weir/base/done.h"
#include "weir/limiter/limiter.h"
#include "weir/reservation/reservation_limiter.h"

namespace weir {

/// The limiters of slots and of tokens. Both must outlive the call.
struct SlotsAndRates {
  ReservationLimiter& slots;
  Limiter& rates;
};

/// The viewed strings must stay valid until the call returns; the parts that are needed later are
/// copied.
struct SlotAndRateRequest {
  ReserveRequest slot;
  AcquireRequest rate;
};

/// The result: a reservation and a lease, or the refusal of one of the two limiters.
class SlotAndRate {
 public:
  SlotAndRate(Reservation reservation, Outcome rate)
      : reservation_(std::move(reservation)), rate_(std::move(rate)) {}
  explicit SlotAndRate(SlotRefusal refusal) : slot_refusal_(refusal) {}
  explicit SlotAndRate(Outcome refused) : rate_(std::move(refused)) {}

  bool granted() const { return !slot_refusal_ && rate_->admitted(); }
  /// These two return the reservation and the lease of a granted request. The lease is inactive if
  /// the store of the tokens was unavailable and the policy is to allow. REQUIRES: granted().
  Reservation reservation() && { return std::move(reservation_); }
  Lease lease() && { return (*std::move(rate_)).lease(); }

  /// Set if the slot was refused. No tokens were requested then.
  const std::optional<SlotRefusal>& slot_refusal() const { return slot_refusal_; }
  /// Returns the decision on the tokens; null if the slot was refused.
  const Decision* decision() const { return rate_ ? &rate_->decision() : nullptr; }

 private:
  Reservation reservation_;
  std::optional<Outcome> rate_;
  std::optional<SlotRefusal> slot_refusal_;
};

/// Claims the slot first, because a release undoes the claim completely, then acquires the tokens.
/// If the tokens are refused or the acquire fails, the slot is released, without waiting for the
/// result.
///
/// Each of the two requests may wait, one after the other. The slot is held, at most for
/// `reservation_ttl`, while the request waits for tokens. If it expires in the meantime, the tokens
/// are returned, without waiting for the result, and the call fails with kAborted; a return whose
/// result is lost is not sent again.
///
/// The destructor of an unused outcome releases the slot. The tokens stay taken, or are returned if
/// an exception unwinds, as those of a Lease. Deadline and errors are those of Reserve and Acquire.
void ReserveAndAcquire(SlotsAndRates limiters, const SlotAndRateRequest& request, Deadline deadline,
                       Done<SlotAndRate> done);
/// Like the overload above, but blocks. Fails with kFailedPrecondition on a thread that runs
/// callbacks (CallbackScope).
[[nodiscard]] Result<SlotAndRate> ReserveAndAcquire(SlotsAndRates limiters,
                                                    const SlotAndRateRequest& request,
                                                    Deadline deadline);

}  // namespace weir
