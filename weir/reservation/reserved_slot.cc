#include "weir/reservation/reserved_slot.h"

#include <utility>

namespace weir {
namespace {

// Returns whether the slot may be free after this error of a binding: it had expired, or the store
// may have released it because the resource had ended before the binding.
bool MayHaveEnded(const Error& error) {
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
  Binding binding{.deadline = state_->Timeout(), .done = std::move(done)};
  {
    const MutexLock lock(mutex_);
    binding.before = std::exchange(phase_, Phase::kBinding);
    ++calls_in_flight_;
  }
  const Deadline deadline = binding.deadline;
  state_->slots().Bind(
      ref_, resource_id, ttl.value_or(state_->options().token_ttl), state_->StoreNow(), deadline,
      [self = shared_from_this(), binding = std::move(binding)](auto bound) mutable {
        self->OnBindResult(std::move(binding), std::move(bound));
      });
}

void ReservedSlot::OnBindResult(Binding binding, Result<HeldSlot> bound) {
  if (!bound) return OnBindError(std::move(binding), std::move(bound.error()));
  {
    const MutexLock lock(mutex_);
    held_ = std::move(*bound);
    phase_ = Phase::kBound;
  }
  EndCall();
  binding.done({});
}

void ReservedSlot::OnBindError(Binding binding, Error error) {
  if (error.code == Code::kFailedPrecondition) {
    return CheckHeldAfterRefusal(std::move(binding), std::move(error));
  }
  const bool is_gone = error.code == Code::kNotFound;
  EndBinding(std::move(binding), std::move(error), is_gone);
}

// The store refuses a binding with the same code in two cases: it released the slot because the
// resource had ended, or the slot is bound to another resource and stays held. A renewal that
// changes nothing distinguishes the two cases.
void ReservedSlot::CheckHeldAfterRefusal(Binding binding, Error refusal) {
  const Deadline deadline = binding.deadline;
  state_->slots().Renew(ref_, milliseconds(1), state_->StoreNow(), deadline,
                        [self = shared_from_this(), binding = std::move(binding),
                         refusal = std::move(refusal)](Result<HeldSlot> held) mutable {
                          const bool is_gone = !held && held.error().code == Code::kNotFound;
                          if (held) self->SetHeld(*std::move(held));
                          self->EndBinding(std::move(binding), std::move(refusal), is_gone);
                        });
}

// After an error in doubt the phase stays kBinding. After a definite error, an abandoned slot is
// released here, because Abandon left it to this result.
void ReservedSlot::EndBinding(Binding binding, Error error, bool is_gone) {
  bool is_abandoned = false;
  {
    const MutexLock lock(mutex_);
    if (is_gone) {
      phase_ = Phase::kEnded;
    } else if (!IsInDoubt(error)) {
      phase_ = binding.before;
    }
    is_abandoned = abandoned_;
  }
  if (MayHaveEnded(error)) state_->OnReleased(ref_.key);
  if (is_abandoned) GiveBackAbandoned();
  EndCall();
  binding.done(Fail(std::move(error)));
}

void ReservedSlot::SetHeld(HeldSlot held) {
  const MutexLock lock(mutex_);
  held_ = std::move(held);
}

void ReservedSlot::Renew(milliseconds ttl, Done<void> done) {
  state_->slots().Renew(ref_, ttl, state_->StoreNow(), state_->Timeout(),
                        [self = shared_from_this(), done = std::move(done)](auto result) mutable {
                          self->OnRenewResult(std::move(result), std::move(done));
                        });
}

void ReservedSlot::OnRenewResult(Result<HeldSlot> result, Done<void> done) {
  const bool gone = !result && result.error().code == Code::kNotFound;
  {
    const MutexLock lock(mutex_);
    if (result) held_ = std::move(*result);
    if (gone) phase_ = Phase::kEnded;
  }
  if (result) return done({});
  if (gone) state_->OnReleased(ref_.key);
  done(Fail(std::move(result.error())));
}

Done<bool> ReservedSlot::AfterRelease(Phase failed, Done<void> done) {
  {
    const MutexLock lock(mutex_);
    phase_ = Phase::kReleasing;
    ++calls_in_flight_;
  }
  return [self = shared_from_this(), failed, done = std::move(done)](Result<bool> result) mutable {
    bool must_retry = false;
    {
      const MutexLock lock(self->mutex_);
      self->phase_ = result ? Phase::kEnded : failed;
      must_retry = !result && self->abandoned_;
    }
    self->state_->OnReleased(self->ref_.key);  // after an error it may have been released
    if (must_retry) self->GiveBackAbandoned();
    self->EndCall();
    if (!result) return done(Fail(std::move(result.error())));
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

void ReservedSlot::Abandon() {
  {
    const MutexLock lock(mutex_);
    abandoned_ = true;
    is_awaited_ = calls_in_flight_ > 0;
    if (is_awaited_) state_->ExpectGiveBack();
  }
  GiveBackAbandoned();
}

void ReservedSlot::EndCall() {
  {
    const MutexLock lock(mutex_);
    if (--calls_in_flight_ > 0 || !std::exchange(is_awaited_, false)) return;
  }
  state_->OnGivenBack();
}

// In kBinding and kBound the resource exists or may exist: nothing is sent. In kReleasing a release
// is in flight; if it fails, this function is called again.
void ReservedSlot::GiveBackAbandoned() {
  auto kind = State::GiveBackKind::kUnlessBound;
  {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::kFree && phase_ != Phase::kUnreleased) return;
    if (phase_ == Phase::kUnreleased) kind = State::GiveBackKind::kAny;
    phase_ = Phase::kEnded;
  }
  state_->GiveBack(ref_, kind);
}

}  // namespace weir
