#include "weir/reservation/reserve_and_acquire.h"

#include <memory>
#include <string>

#include "weir/runtime/await.h"

namespace weir {
namespace {

/// What is needed once there is a slot. Stays where it is: the request views its strings.
struct Pending {
  Pending(const AcquireRequest& request, Deadline until, Done<SlotAndRate> then)
      : entity(request.entity),
        resource(request.resource),
        rate(request),
        deadline(until),
        done(std::move(then)) {
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
// Shared, because Acquire looks at the request until it returns, which may be after its answer.
using PendingPtr = std::shared_ptr<Pending>;

void Conclude(Pending& pending, Result<Outcome> rate) {
  Reservation reservation = std::move(pending.reservation);
  if (rate && rate->admitted()) {
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
  return Await<SlotAndRate>([&](Done<SlotAndRate> done) {
    ReserveAndAcquire(limiters, request, deadline, std::move(done));
  });
}

}  // namespace weir
