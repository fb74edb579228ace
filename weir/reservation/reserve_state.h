// What a ReservationLimiter is made of.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/reservation/limit_lookup.h"
#include "weir/reservation/reservation_limiter.h"
#include "weir/reservation/reserve_queue.h"
#include "weir/runtime/turn_pump.h"
#include "weir/telemetry/counter.h"

namespace weir {

/// One Reserve that is under way. Owned by one party at a time: the caller, the queue, or the
/// answer that is to come.
struct ReserveCall {
  Done<ReserveOutcome> done;
  Deadline deadline;
  nanoseconds budget;  ///< how long each try may take, as the first had
  std::int64_t default_limit;
  std::optional<std::int64_t> given_limit;
  ReserveQueue::Request request{};  ///< its limit: as last looked up
  bool placed = false;              ///< the queue knows of it
  /// What every try claims, so that tries in doubt hold one slot in all.
  std::optional<SlotRef> slot{};
  /// The store may hold `slot` for this call, which releases it if it ends without it.
  bool may_hold = false;
  /// Why the last try of one who waits got no answer of the store.
  std::optional<Error> failure{};
};
using ReserveCallPtr = std::unique_ptr<ReserveCall>;

/// Shared with the calls that may outlast the limiter: waiting requests, and what is given back.
/// Who waits is begun and ended on the scheduler's thread only, one after the other: what runs when
/// one is answered may itself release slots without nesting.
class ReservationLimiter::State final : public std::enable_shared_from_this<State> {
 public:
  State(ReservationBackend& backend, Scheduler& scheduler, const ReservationOptions& options);
  /// Before anything else.
  void Bind() { pump_.Bind(weak_from_this()); }

  void Reserve(const ReserveRequest& request, Deadline deadline, Done<ReserveOutcome> done);
  /// Abandons those who wait and takes no more.
  void Close();
  ReservationStats stats() const;

  // For what is done with a reservation.
  ReservationStore& slots() { return slots_; }
  const ReservationOptions& options() const { return options_; }
  UnixMillis StoreNow() const { return backend_.Now(clock_); }
  Deadline Timeout() const;
  enum class GiveBackKind { kUnlessBound, kAny };
  /// Releases a slot without waiting for the answer.
  void GiveBack(const SlotRef& slot, GiveBackKind kind = GiveBackKind::kUnlessBound);
  void Drain(Done<void> done);
  /// A slot of the key came back, or may have.
  void Released(const AccountKey& key);

 private:
  using CallPtr = ReserveCallPtr;

  // From the request to a try (reserve_request.cc).
  void FindLimit(CallPtr call, void (State::*next)(CallPtr));
  void Enter(CallPtr call);
  ReserveQueue::Answer Arrive(CallPtr& call);
  void Try(CallPtr call);

  // One try (reserve_claim.cc).
  void AskStore(CallPtr call);
  SlotRef NewSlot(const AccountKey& key);
  void Answered(CallPtr call, Result<ClaimAnswer> answer);
  void Prolong(CallPtr call, HeldSlot slot);
  void ClaimAnother(CallPtr call);
  void Unanswered(CallPtr call, Error error);

  // A try that got no slot.
  void Full(CallPtr call, const ClaimAnswer& answer);
  void FailOrWait(CallPtr call, Error error);

  // These end the call.
  void Grant(CallPtr call, HeldSlot slot);
  void Expire(CallPtr call, const ReserveQueue::Known& known);
  void Refuse(CallPtr call, const ReserveQueue::Known& known);
  void RefuseBlocked(CallPtr call);
  void Fail(CallPtr call, Error error);
  void GiveBackInDoubt(ReserveCall& call);
  Error TurnedAway() const;

  // Whose turn it is (reserve_driver.cc).
  void TakeTurn(CallPtr call);
  void Leave(ReserveCall& call);
  std::optional<Instant> NextTurn() const;
  bool TakeTurns();
  void GivenBack();
  CallPtr Take(ReserveQueue::Id id) WEIR_REQUIRES(mutex_);

  const ReservationBackend& backend_;
  ReservationStore& slots_;
  const Clock& clock_;
  const ReservationOptions options_;
  LimitLookup lookup_;
  std::atomic<ReserveQueue::Id> next_id_ = 1;
  std::atomic<bool> closed_ = false;  ///< set under mutex_

  mutable Mutex mutex_;
  Rng rng_ WEIR_GUARDED_BY(mutex_);
  ReserveQueue queue_ WEIR_GUARDED_BY(mutex_);
  std::map<ReserveQueue::Id, CallPtr> calls_ WEIR_GUARDED_BY(mutex_);  ///< that wait, do not ask
  std::size_t giving_back_ WEIR_GUARDED_BY(mutex_) =
      0;  ///< releases in flight without a waiting caller
  std::vector<Done<void>> drains_ WEIR_GUARDED_BY(mutex_);

  TurnPump pump_;

  Counter reserved_;
  Counter refused_;
  Counter errors_;
  Counter remembered_;
  Counter claims_;
};

}  // namespace weir
