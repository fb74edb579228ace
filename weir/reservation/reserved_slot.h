// A slot and what is known of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/mutex.h"
#include "weir/limiter/adjustment.h"
#include "weir/reservation/reserve_state.h"

namespace weir {

/// True where the error leaves open whether what was asked has happened.
inline bool IsInDoubt(const Error& error) {
  return StateAfter(Fail(error)) == Adjustment::State::kDoubt;
}

/// Shared by the reservation and by answers that are to come, which may be given on another thread
/// and after the reservation is gone.
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
  /// The reservation is gone: gives back what nobody will bind.
  void Abandon();

 private:
  enum class Phase {
    kFree,     ///< claimed, not bound by this object: released with the reservation if unbound
    kBinding,  ///< bound, or not, or not yet: kept
    kBound,
    kReleasing,
    kUnreleased,  ///< its release failed: tried again with the reservation, bound or not
    kEnded,
  };

  void Bound(Phase before, Result<HeldSlot> answer, Done<void> done);
  void Renewed(Result<HeldSlot> answer, Done<void> done);
  /// The answer to a release; `failed`: the phase after an error.
  Done<bool> AfterRelease(Phase failed, Done<void> done);

  const std::shared_ptr<State> state_;
  const SlotRef ref_;
  mutable Mutex mutex_;
  HeldSlot held_ WEIR_GUARDED_BY(mutex_);
  Phase phase_ WEIR_GUARDED_BY(mutex_) = Phase::kFree;
  bool abandoned_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir
