// The state of a ReservationLimiter and the path of a call through it.
//
//   Reserve --> FindLimit --> EnterQueueOrCall --> CallStore --> OnClaimResult --+--> Grant
//                                   |                ^                         |
//                 others wait, or   |                |     +-------------------+
//                 known to be full  |                |     +--> RenewClaimed --> Grant
//                       |           |                |     |    (the slot of an earlier try)
//                       |           |                |     +--> OnFull: refused
//                       v           v                |     +--> OnStoreError --> FailOrWait
//                    Refuse    ReserveQueue          |                             |
//                                |    |              |                             +--> Fail, or
//                                |    +--> TakeTurn --> FindLimit --> Try               the queue
//                                +-------> Expire --> Refuse, or Fail with the last error
//
// A call that waits claims under one id at every try, so that it holds at most one slot in doubt.
// `claim_in_doubt` is true from a claim in doubt until the call ends or the slot is known to be
// expired. If the call ends without the slot, GiveBackInDoubt releases it.
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

/// The state of one Reserve in flight. A call has one owner at a time: the caller, the queue, or
/// the pending result of the store.
struct ReserveCall {
  Done<ReserveOutcome> done;
  Deadline deadline;  ///< the deadline of the try
  Deadline of_request;
  std::int64_t default_limit;
  std::optional<std::int64_t> given_limit;
  ReserveQueue::Request request{};  ///< `limit` is the one that was last looked up
  bool in_queue = false;            ///< the queue has an entry for it, also while it tries
  /// The slot that every try claims, so that tries in doubt hold one slot in all.
  std::optional<SlotRef> slot{};
  /// The store may hold `slot` for this call.
  bool claim_in_doubt = false;
  /// The error if the store did not respond to the last try of a waiting request.
  std::optional<Error> failure{};
};
using ReserveCallPtr = std::unique_ptr<ReserveCall>;

/// Also owned by the calls that may outlive the limiter: waiting requests and releases.
/// Thread-safe. The tries of waiting requests, and the ends of those whose time is over, begin on
/// the scheduler's thread only, one after the other, so the callback of a request may release slots
/// without nesting.
class ReservationLimiter::State final : public std::enable_shared_from_this<State> {
 public:
  State(ReservationBackend& backend, Scheduler& scheduler, const ReservationOptions& options);
  /// Call this before anything else, when a shared_ptr owns the state.
  void Bind() { pump_.Bind(weak_from_this()); }

  void Reserve(const ReserveRequest& request, Deadline deadline, Done<ReserveOutcome> done);
  /// Completes the waiting requests with kCancelled and takes no more.
  void Close();
  ReservationStats stats() const;

  // Used by ReservedSlot.
  ReservationStore& slots() { return slots_; }
  const ReservationOptions& options() const { return options_; }
  /// Returns the present time of the store.
  UnixMillis StoreNow() const { return backend_.Now(clock_); }
  /// Returns `store_timeout` from now.
  Deadline Timeout() const;
  enum class GiveBackKind { kUnlessBound, kAny };
  /// Releases a slot without waiting for the result. Drain waits for it.
  void GiveBack(const SlotRef& slot, GiveBackKind kind = GiveBackKind::kUnlessBound);
  /// Makes Drain wait for one more OnGivenBack: a result in flight may begin a release.
  void ExpectGiveBack();
  /// Counts the end of a release that GiveBack or ExpectGiveBack counted. After the last one,
  /// completes the pending Drain calls.
  void OnGivenBack();
  void Drain(Done<void> done);
  /// Reports to the queue that a slot of the key was released, or may have been.
  void OnReleased(const AccountKey& key);

 private:
  using CallPtr = ReserveCallPtr;

  // From the request to a try (reserve_request.cc).

  /// Returns the deadline of a try that begins now, for a waiting request with this deadline.
  Deadline DeadlineOfTry(Deadline of_request) const;
  /// Sets the limit of the call, from the cache or the store, then calls `next`.
  void FindLimit(CallPtr call, void (State::*next)(CallPtr));
  /// Asks the store, queues the call, or refuses it, as the queue decides.
  void EnterQueueOrCall(CallPtr call);
  /// Adds a call to the queue. If the call waits, moves it to calls_.
  ReserveQueue::Admission AddToQueue(CallPtr& call);
  /// Begins a try of a waiting call.
  void Try(CallPtr call);

  // One try (reserve_claim.cc).

  /// Claims the call's slot.
  void CallStore(CallPtr call);
  SlotRef NewSlot(const AccountKey& key);
  /// Takes the result of the claim.
  void OnClaimResult(CallPtr call, Result<ClaimResult> result);
  /// Renews a slot that an earlier try may have claimed, then grants it.
  void RenewClaimed(CallPtr call, HeldSlot slot);
  /// Claims again under a new id, because the slot of an earlier try has expired.
  void ClaimAnother(CallPtr call);
  /// Takes an error of the claim or the renewal.
  void OnStoreError(CallPtr call, Error error);

  // A try that got no slot (reserve_request.cc).

  /// Passes a refusal of the store to the queue; the call then waits further or is refused.
  void OnFull(CallPtr call, const ClaimResult& result);
  /// Queues a waiting call again after an error that may pass, or fails the call.
  void FailOrWait(CallPtr call, Error error);

  // These end the call (reserve_request.cc).

  void Grant(CallPtr call, HeldSlot slot);
  /// Ends a call whose time is over: refuses it, or fails it if the store did not respond.
  void Expire(CallPtr call, const ReserveQueue::Known& known);
  void Refuse(CallPtr call, const ReserveQueue::Known& known);
  void RefuseBlocked(CallPtr call);
  void Fail(CallPtr call, Error error);
  /// Releases the slot that the store may hold for the call.
  void GiveBackInDoubt(ReserveCall& call);
  /// Returns the error of a call that the queue does not take.
  Error NotQueuedError() const;

  // The driver of the queue (reserve_driver.cc).

  /// Starts a try of a waiting call. Its limit is looked up again.
  void TakeTurn(CallPtr call);
  /// Removes the call from the queue, if the queue has an entry for the call.
  void LeaveQueue(ReserveCall& call);
  /// Returns the time at which TakeTurns has work; used by the pump.
  std::optional<Instant> NextTurn() const;
  /// Starts the tries that are due, and ends the calls whose time is over. Returns false if there
  /// were none.
  bool TakeTurns();
  /// Removes a call from calls_ and returns it.
  CallPtr TakeCall(ReserveQueue::Id id) WEIR_REQUIRES(mutex_);

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
  std::map<ReserveQueue::Id, CallPtr> calls_ WEIR_GUARDED_BY(mutex_);  ///< waiting, not trying
  /// Number of releases without a waiting caller, in flight or expected. Drain waits for them.
  std::size_t giving_back_ WEIR_GUARDED_BY(mutex_) = 0;
  std::vector<Done<void>> drains_ WEIR_GUARDED_BY(mutex_);

  TurnPump pump_;

  Counter reserved_;
  Counter refused_;
  Counter errors_;
  Counter remembered_;
  Counter claims_;
};

}  // namespace weir
