// The course of a Reserve: its limit, its position in the queue, and its end. Its calls to the
// store are in reserve_claim.cc.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "weir/reservation/reserve_state.h"
#include "weir/reservation/reserved_slot.h"
#include "weir/runtime/add_saturated.h"

namespace weir {
namespace {

// Returns `wait` from now, or now if `wait` is negative.
Instant FromNow(milliseconds wait, Instant now) {
  return wait > milliseconds(0) ? AddSaturated(now, wait) : now;
}

Error ClosedError() {
  return {Code::kCancelled, "the limiter was closed while the request waited for a slot"};
}

bool MaySucceedLater(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded ||
         error.code == Code::kAborted;
}

Status CheckRequest(const AccountKey& key, const ReserveRequest& request) {
  WEIR_RETURN_IF_ERROR(Check(key));
  return Check(key, AccountLimit{.limit = request.limit.value_or(request.default_limit)});
}

}  // namespace

void ReservationLimiter::State::Reserve(const ReserveRequest& request, Deadline deadline,
                                        Done<ReserveOutcome> done) {
  auto call = std::make_unique<ReserveCall>(std::move(done), deadline, deadline,
                                            request.default_limit, request.limit);
  call->request.id = next_id_.fetch_add(1, std::memory_order_relaxed);
  call->request.key = {std::string(request.resource), std::string(request.account)};
  if (request.wait) {
    call->request.wait_until = std::min(request.wait_until, deadline).at();
    call->deadline = DeadlineOfTry(deadline);
  }
  if (Status valid = CheckRequest(call->request.key, request); !valid) {
    return Fail(std::move(call), std::move(valid.error()));
  }
  FindLimit(std::move(call), &State::EnterQueueOrCall);
}

Deadline ReservationLimiter::State::DeadlineOfTry(Deadline of_request) const {
  return std::min(of_request, Deadline::After(clock_, options_.store_timeout));
}

void ReservationLimiter::State::FindLimit(CallPtr call, void (State::*next)(CallPtr)) {
  if (call->given_limit) {
    call->request.limit = *call->given_limit;
    return (this->*next)(std::move(call));
  }
  ReserveCall& asking = *call;
  lookup_.Get(asking.request.key, asking.deadline,
              [self = shared_from_this(), call = std::move(call), next](auto limit) mutable {
                if (!limit) return self->FailOrWait(std::move(call), std::move(limit.error()));
                call->request.limit = *limit ? (*limit)->limit : call->default_limit;
                (*self.*next)(std::move(call));
              });
}

// A new request waits behind others or is refused by a cached refusal; otherwise it asks the store.
void ReservationLimiter::State::EnterQueueOrCall(CallPtr call) {
  if (call->request.limit <= 0) return RefuseBlocked(std::move(call));
  const ReserveQueue::Admission result = AddToQueue(call);
  pump_.Kick();
  switch (result.verdict) {
    case ReserveQueue::Verdict::kAsk:
      return CallStore(std::move(call));
    case ReserveQueue::Verdict::kWait:
      return;
    case ReserveQueue::Verdict::kRefuse:
      remembered_.Add();
      return Refuse(std::move(call), result.known);
    case ReserveQueue::Verdict::kTooMany:
      return Fail(std::move(call), NotQueuedError());
  }
}

ReserveQueue::Admission ReservationLimiter::State::AddToQueue(CallPtr& call) {
  const MutexLock lock(mutex_);
  if (closed_) return {ReserveQueue::Verdict::kTooMany};
  const ReserveQueue::Admission result = queue_.Add(call->request, clock_.Now());
  const bool is_waiting = result.verdict == ReserveQueue::Verdict::kWait;
  const bool is_asking = result.verdict == ReserveQueue::Verdict::kAsk;
  // If wait_until has passed, the queue treats the request as one that does not wait.
  if (is_asking) call->request.wait_until.reset();
  call->in_queue = is_waiting || is_asking;
  if (is_waiting) calls_.emplace(call->request.id, std::move(call));
  return result;
}

void ReservationLimiter::State::Try(CallPtr call) {
  if (call->request.limit <= 0) return RefuseBlocked(std::move(call));
  CallStore(std::move(call));
}

// A waiting request tries again until its time is over, and stays the first of its queue.
void ReservationLimiter::State::FailOrWait(CallPtr call, Error error) {
  if (!call->request.wait_until || !MaySucceedLater(error)) {
    return Fail(std::move(call), std::move(error));
  }
  call->failure = error;
  bool is_waiting = false;
  if (!call->in_queue) {  // the lookup of the limit failed; TakeTurn looks it up again
    call->request.limit = call->default_limit;
    is_waiting = AddToQueue(call).verdict == ReserveQueue::Verdict::kWait;
  } else {
    const MutexLock lock(mutex_);
    is_waiting = queue_.Postpone(call->request.id, clock_.Now()) && !closed_;
    if (is_waiting)
      calls_.emplace(call->request.id, std::move(call));
    else
      call->in_queue = false;
  }
  pump_.Kick();
  // NOLINTNEXTLINE(bugprone-use-after-move): only a waiting call was moved
  if (!is_waiting) Fail(std::move(call), std::move(error));
}

void ReservationLimiter::State::Expire(CallPtr call, const ReserveQueue::Known& known) {
  call->in_queue = false;  // the queue has removed it
  if (!call->failure) return Refuse(std::move(call), known);
  Error error = *std::move(call->failure);
  Fail(std::move(call), std::move(error));
}

void ReservationLimiter::State::OnFull(CallPtr call, const ClaimResult& result) {
  ClaimRefusal full{.limit = call->request.limit, .in_use = result.in_use};
  ReserveQueue::Admission admission;
  {
    const MutexLock lock(mutex_);
    const Instant now = clock_.Now();
    if (result.next_expiry) full.next_expiry = FromNow(*result.next_expiry - StoreNow(), now);
    admission = queue_.OnRefused(call->request.id, full, now);
    call->in_queue = admission.verdict == ReserveQueue::Verdict::kWait;
    if (call->in_queue && !closed_) calls_.emplace(call->request.id, std::move(call));
  }
  pump_.Kick();
  if (call == nullptr) return;
  // NOLINTNEXTLINE(bugprone-use-after-move): a call that was moved from is null
  if (call->in_queue) return Fail(std::move(call), ClosedError());
  Refuse(std::move(call), admission.known);
}

void ReservationLimiter::State::Grant(CallPtr call, HeldSlot slot) {
  if (closed_) {
    call->claim_in_doubt = true;
    return Fail(std::move(call), ClosedError());
  }
  LeaveQueue(*call);
  reserved_.Add();
  call->done(ReserveOutcome(
      Reservation(std::make_shared<ReservedSlot>(shared_from_this(), std::move(slot)))));
}

void ReservationLimiter::State::Refuse(CallPtr call, const ReserveQueue::Known& known) {
  const auto wait = std::chrono::ceil<milliseconds>(known.retry_at - clock_.Now());
  GiveBackInDoubt(*call);
  refused_.Add();
  call->done(ReserveOutcome(SlotRefusal{.limit = call->request.limit,
                                        .in_use = known.in_use,
                                        .retry_after = std::max(wait, milliseconds(1))}));
}

void ReservationLimiter::State::RefuseBlocked(CallPtr call) {
  GiveBackInDoubt(*call);
  LeaveQueue(*call);
  refused_.Add();
  remembered_.Add();
  call->done(ReserveOutcome(SlotRefusal{.limit = call->request.limit, .blocked = true}));
}

void ReservationLimiter::State::Fail(CallPtr call, Error error) {
  GiveBackInDoubt(*call);
  LeaveQueue(*call);
  errors_.Add();
  call->done(weir::Fail(std::move(error)));
}

// Called only at the end of a call: an earlier release could arrive after the next try and free the
// slot that the next try got.
void ReservationLimiter::State::GiveBackInDoubt(ReserveCall& call) {
  if (std::exchange(call.claim_in_doubt, false)) GiveBack(*call.slot);
}

Error ReservationLimiter::State::NotQueuedError() const {
  if (closed_) return ClosedError();
  return {Code::kResourceExhausted,
          fmt::format("{} requests wait for slots already; max_waiting is {}", stats().waiting,
                      options_.max_waiting)};
}

}  // namespace weir
