// A slot and its known state. The transitions of ReservedSlot::Phase:
//
//   phase         event                             next phase
//   any           Bind                              kBinding
//   kBinding      success                           kBound
//   kBinding      kNotFound, or kFailedPrecondition kEnded
//                   and the slot is not held any more
//   kBinding      another definite error            the phase before Bind; if Abandon was called in
//                                                     the meantime, its row for that phase applies
//   kBinding      an error in doubt                 kBinding
//   any           Renew fails with kNotFound        kEnded
//   any           Release, ReleaseUnlessBound       kReleasing
//   kReleasing    success                           kEnded
//   kReleasing    Release fails                     kUnreleased
//   kReleasing    ReleaseUnlessBound fails          kFree
//   kReleasing    either fails after Abandon        kEnded; the same release is sent once more
//   kFree         Abandon                           kEnded; the slot is released unless bound
//   kUnreleased   Abandon                           kEnded; the slot is released, bound or not
//   others        Abandon                           the same; no call to the store
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/mutex.h"
#include "weir/limiter/adjustment.h"
#include "weir/reservation/reserve_state.h"

namespace weir {

/// Returns true if the call may have taken effect despite the error.
inline bool IsInDoubt(const Error& error) {
  return StateAfter(Fail(error)) == Adjustment::State::kDoubt;
}

/// Shared by the reservation and by pending results, which may arrive on another thread and after
/// the reservation was destroyed. Thread-safe.
struct ReservedSlot : std::enable_shared_from_this<ReservedSlot> {
 public:
  using State = ReservationLimiter::State;

  ReservedSlot(std::shared_ptr<State> limiter, HeldSlot slot)
      : state_(std::move(limiter)), ref_{slot.key, slot.id}, held_(std::move(slot)) {}

  const SlotRef& ref() const { return ref_; }
  HeldSlot held() const;
  bool active() const;
  bool expired() const { return state_->StoreNow() >= held().expires; }

  void Bind(const std::string& resource_id, std::optional<milliseconds> ttl, Done<void> done);
  void Renew(milliseconds ttl, Done<void> done);
  void Release(Done<void> done);
  void ReleaseUnlessBound(Done<void> done);
  /// Called when the reservation is destroyed: releases the slot unless it is or may be bound.
  void Abandon();

 private:
  enum class Phase {
    kFree,     ///< claimed, and not bound by this object
    kBinding,  ///< a binding is in flight or in doubt; the slot is kept
    kBound,
    kReleasing,
    kUnreleased,  ///< a release failed; Abandon tries again
    kEnded,
  };

  /// A call of Bind in flight.
  struct Binding {
    Phase before = Phase::kFree;  ///< the phase before the call
    Deadline deadline = Deadline::Never();
    Done<void> done;
  };

  void OnBindResult(Binding binding, Result<HeldSlot> bound);
  void OnBindError(Binding binding, Error error);
  /// Reads from the store whether the slot is still held, then calls EndBinding.
  void CheckHeldAfterRefusal(Binding binding, Error refusal);
  /// Ends a failed Bind. `is_gone`: the slot is not held any more.
  void EndBinding(Binding binding, Error error, bool is_gone);
  void SetHeld(HeldSlot held);
  /// Releases the slot of a destroyed reservation, if its phase requires it.
  void GiveBackAbandoned();
  /// Counts the end of a call of Bind or of a release. After the last one, Drain no longer waits
  /// for a destroyed reservation. (It waits because the result of such a call may begin a release.)
  void EndCall();
  void OnRenewResult(Result<HeldSlot> result, Done<void> done);
  /// Enters kReleasing. Returns the completion of the release; `failed` is the phase after an
  /// error.
  Done<bool> AfterRelease(Phase failed, Done<void> done);

  const std::shared_ptr<State> state_;
  const SlotRef ref_;
  mutable Mutex mutex_;
  HeldSlot held_ WEIR_GUARDED_BY(mutex_);
  Phase phase_ WEIR_GUARDED_BY(mutex_) = Phase::kFree;
  bool abandoned_ WEIR_GUARDED_BY(mutex_) = false;
  int calls_in_flight_ WEIR_GUARDED_BY(mutex_) = 0;  ///< of Bind and of releases
  bool is_awaited_ WEIR_GUARDED_BY(mutex_) = false;  ///< Drain waits for these calls
};

}  // namespace weir
