#include "weir/reservation/reserve_and_acquire.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "weir/runtime/await.h"

namespace weir {
namespace {

/// The state of one call while it waits for the slot and then for the tokens. Not movable, because
/// `rate` views its strings.
struct Pending {
  Pending(const AcquireRequest& request, Deadline until, Done<SlotAndRate> on_done)
      : entity(request.entity),
        resource(request.resource),
        rate(request),
        deadline(until),
        done(std::move(on_done)) {
    rate.entity = entity;
    rate.resource = resource;
  }

  const std::string entity;
  const std::string resource;
  AcquireRequest rate;
  const Deadline deadline;
  Done<SlotAndRate> done;
  Reservation reservation;
};
// Shared, because Acquire reads the request until Acquire returns, which may be after `done` ran.
using PendingPtr = std::shared_ptr<Pending>;

// Returns the tokens without waiting for the store. The lease ends at once, so a return whose
// result is lost is not sent again. If the lease is inactive, nothing was taken, and Adjust fails.
void GiveBack(Lease lease, Amounts amounts) {
  for (Amount& amount : amounts) amount.tokens = Tokens::Milli(-amount.tokens.milli());
  lease.Adjust(amounts, [](const Status&) {});
}

Error Expired(const AccountKey& key) {
  return {Code::kAborted,
          fmt::format("{}: the slot expired while the request waited for tokens; try again, or set "
                      "reservation_ttl to more than the longest wait for tokens",
                      Describe(key))};
}

// Another request may hold the expired slot by now. The slot is not claimed again, because the
// request would wait a second time while it holds tokens that others could use.
void FailExpired(Pending& pending, Reservation reservation, Lease lease) {
  GiveBack(std::move(lease), pending.rate.amounts);
  Error error = Expired(reservation.key());
  reservation = Reservation();
  pending.done(Fail(std::move(error)));
}

void Conclude(Pending& pending, Result<Outcome> rate) {
  Reservation reservation = std::move(pending.reservation);
  if (rate && rate->admitted()) {
    if (reservation.expired()) {
      return FailExpired(pending, std::move(reservation), std::move(*rate).lease());
    }
    return pending.done(SlotAndRate(std::move(reservation), std::move(*rate)));
  }
  reservation = Reservation();
  if (!rate) return pending.done(Fail(std::move(rate.error())));
  pending.done(SlotAndRate(std::move(*rate)));
}

void TakeTokens(Limiter& rates, const PendingPtr& pending, Result<ReserveOutcome> slot) {
  if (!slot) return pending->done(Fail(std::move(slot.error())));
  if (!slot->reserved()) return pending->done(SlotAndRate(slot->refusal()));
  pending->reservation = std::move(*slot).reservation();
  rates.Acquire(pending->rate, pending->deadline,
                [pending](Result<Outcome> rate) { Conclude(*pending, std::move(rate)); });
}

}  // namespace

void ReserveAndAcquire(SlotsAndRates limiters, const SlotAndRateRequest& request, Deadline deadline,
                       Done<SlotAndRate> done) {
  const auto pending = std::make_shared<Pending>(request.rate, deadline, std::move(done));
  limiters.slots.Reserve(request.slot, deadline,
                         [&rates = limiters.rates, pending](Result<ReserveOutcome> slot) {
                           TakeTokens(rates, pending, std::move(slot));
                         });
}

Result<SlotAndRate> ReserveAndAcquire(SlotsAndRates limiters, const SlotAndRateRequest& request,
                                      Deadline deadline) {
  return AwaitUnlessInCallback<SlotAndRate>([&](Done<SlotAndRate> done) {
    ReserveAndAcquire(limiters, request, deadline, std::move(done));
  });
}

}  // namespace weir
