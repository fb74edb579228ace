#include "weir/reservation/reserved_slot.h"

#include <utility>

namespace weir {
namespace {

// The slot had expired, or the store released it because the resource had ended before the binding.
bool SaysItIsGone(const Error& error) {
  return error.code == Code::kNotFound || error.code == Code::kFailedPrecondition;
}

}  // namespace

HeldSlot ReservedSlot::held() const {
  const MutexLock lock(mutex_);
  return held_;
}

bool ReservedSlot::active() const {
  const MutexLock lock(mutex_);
  return phase_ != Phase::kEnded;
}

// The phase changes before the call, so that the slot is kept if the reservation is destroyed while
// the call is in flight: the resource exists.
void ReservedSlot::Bind(const std::string& resource_id, std::optional<milliseconds> ttl,
                        Done<void> done) {
  Phase before;
  {
    const MutexLock lock(mutex_);
    before = std::exchange(phase_, Phase::kBinding);
  }
  state_->slots().Bind(
      ref_, resource_id, ttl.value_or(state_->options().token_ttl), state_->StoreNow(),
      state_->Timeout(),
      [self = shared_from_this(), before, done = std::move(done)](auto answer) mutable {
        self->Bound(before, std::move(answer), std::move(done));
      });
}

// After an error in doubt the phase stays kBinding. After a definite error, an abandoned slot is
// released here, because Abandon left it to this result.
void ReservedSlot::Bound(Phase before, Result<HeldSlot> answer, Done<void> done) {
  bool nobody_will_bind_it = false;
  {
    const MutexLock lock(mutex_);
    if (answer) {
      held_ = std::move(*answer);
      phase_ = Phase::kBound;
    } else if (answer.error().code == Code::kNotFound) {
      phase_ = Phase::kEnded;
    } else if (!IsInDoubt(answer.error())) {
      phase_ = before;
      nobody_will_bind_it = abandoned_ && before == Phase::kFree;
    }
  }
  if (answer) return done({});
  if (SaysItIsGone(answer.error())) state_->Released(ref_.key);
  if (nobody_will_bind_it) state_->GiveBack(ref_);
  done(Fail(std::move(answer.error())));
}

void ReservedSlot::Renew(milliseconds ttl, Done<void> done) {
  state_->slots().Renew(ref_, ttl, state_->StoreNow(), state_->Timeout(),
                        [self = shared_from_this(), done = std::move(done)](auto answer) mutable {
                          self->Renewed(std::move(answer), std::move(done));
                        });
}

void ReservedSlot::Renewed(Result<HeldSlot> answer, Done<void> done) {
  const bool gone = !answer && answer.error().code == Code::kNotFound;
  {
    const MutexLock lock(mutex_);
    if (answer) held_ = std::move(*answer);
    if (gone) phase_ = Phase::kEnded;
  }
  if (answer) return done({});
  if (gone) state_->Released(ref_.key);
  done(Fail(std::move(answer.error())));
}

Done<bool> ReservedSlot::AfterRelease(Phase failed, Done<void> done) {
  {
    const MutexLock lock(mutex_);
    phase_ = Phase::kReleasing;
  }
  return [self = shared_from_this(), failed, done = std::move(done)](Result<bool> answer) mutable {
    {
      const MutexLock lock(self->mutex_);
      self->phase_ = answer ? Phase::kEnded : failed;
    }
    self->state_->Released(self->ref_.key);  // after an error it may have been released
    if (!answer) return done(Fail(std::move(answer.error())));
    done({});
  };
}

void ReservedSlot::Release(Done<void> done) {
  auto then = AfterRelease(Phase::kUnreleased, std::move(done));
  state_->slots().Release(ref_, state_->StoreNow(), state_->Timeout(), std::move(then));
}

void ReservedSlot::ReleaseUnlessBound(Done<void> done) {
  auto then = AfterRelease(Phase::kFree, std::move(done));
  state_->slots().ReleaseUnbound(ref_, state_->StoreNow(), state_->Timeout(), std::move(then));
}

// In kBinding and kBound the resource exists or may exist, and in kReleasing a release is in
// flight: nothing is sent.
void ReservedSlot::Abandon() {
  auto kind = State::GiveBackKind::kUnlessBound;
  {
    const MutexLock lock(mutex_);
    abandoned_ = true;
    if (phase_ != Phase::kFree && phase_ != Phase::kUnreleased) return;
    if (phase_ == Phase::kUnreleased) kind = State::GiveBackKind::kAny;
    phase_ = Phase::kEnded;
  }
  state_->GiveBack(ref_, kind);
}

}  // namespace weir
