// The second part of an Acquire: calls the store and handles its result.
//
// The store may complete a call before or after BucketStore::Acquire returns, on any thread, and
// reads the charges until Acquire returns. So the call continues only after both events: the store
// has completed, and Acquire has returned. The later event continues
// (PendingAcquire::ArriveSecond):
//
//   CallStore: BucketStore::Acquire has returned ---+
//                                                  +--> the later one: OnStoreResult
//   StoreReceiver: store the result ---------------+
//
// The charges therefore live as long as the store may read them, and calls to the store do not
// nest.
#include "weir/limiter/acquire_attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "weir/base/owed_result.h"
#include "weir/limiter/charges/charges.h"
#include "weir/limiter/charges/refusals.h"
#include "weir/limiter/limits_renewal.h"
#include "weir/runtime/add_saturated.h"

namespace weir {
// Receives the store's result of a call, and shares this call with CallStore.
class AcquireAttempt::StoreReceiver {
 public:
  StoreReceiver() = default;
  StoreReceiver(AcquireAttempt& attempt, PendingAcquire& call) : attempt_(&attempt), call_(&call) {}
  explicit operator bool() const { return call_ != nullptr; }
  void operator()(Result<Decision>&& result) const {
    call_->result.emplace(std::move(result));
    if (call_->ArriveSecond()) attempt_->OnStoreResult(CallPtr(call_));
  }

 private:
  AcquireAttempt* attempt_ = nullptr;
  PendingAcquire* call_ = nullptr;
};

// If other requests wait for one of its buckets, the call is queued behind them or refused.
void AcquireAttempt::Enter(CallPtr call) {
  if (call->wait != nullptr && call->wait->stop.stop_requested()) return end_.Stop(std::move(call));
  if (waiting_.idle()) return Try(std::move(call));
  if (call->wait != nullptr) {
    const auto verdict = waiting_.JoinBehind(call);
    return FollowVerdict(std::move(call), verdict);
  }
  if (waiting_.FindAhead(call->charges)) return RefuseUntried(std::move(call));
  Try(std::move(call));
}

// A store rejects a charge over the capacity as an invalid argument, so it is refused here. An
// allowance belongs to one pair, so a group of several parts goes to the store, where the tokens
// that allowances hold count as taken.
void AcquireAttempt::Try(CallPtr call) {
  if (IsOverCapacity(call->charges)) return RefuseUntried(std::move(call));
  if (!call->has_one_part()) return CallStore(std::move(call));
  if (!allowances_.TryTake(call)) CallStore(std::move(call));
}

void AcquireAttempt::Serve(CallPtr call, Decision decision) {
  return decision.admitted ? end_.Admit(std::move(call), std::move(decision))
                           : end_.Refuse(std::move(call), std::move(decision));
}

// The StoreReceiver and this function share the call until both have called ArriveSecond. The
// deadline of a call that may wait is not checked here: HasTime has left out later tries that would
// begin too late.
void AcquireAttempt::CallStore(CallPtr owned) {
  owned->store_call_start = clock_.Now();
  if (owned->wait == nullptr && owned->deadline.ExpiredAt(owned->store_call_start)) {
    return end_.OnStoreError(
        std::move(owned),
        {Code::kDeadlineExceeded, "the deadline passed before the request was sent to the store"});
  }
  PendingAcquire& call = *owned.release();
  call.one_has_arrived.store(false, std::memory_order_relaxed);
  const UnixMillis now = buckets_.Now();
  if (WaitState* const wait = call.wait.get()) {
    wait->try_start = clock_.Now();  // after `now`, so that waits counted from it are long enough
    wait->stamp = waiting_.StampOf(call.charges);
  }
  store_acquires_.Add();
  // The policy decides about tokens that the store takes after the deadline: they stay taken if the
  // policy admits the request; otherwise the store returns them if it can.
  const OnUnavailable policy = fail_open_.PolicyOf(call);
  call.policy = policy;
  using StoreResponse = OwedResult<Decision, "the store dropped the call", StoreReceiver>;
  static_assert(sizeof(StoreResponse) == 2 * sizeof(void*));  // so that a Done does not allocate
  if (policy == OnUnavailable::kAllow && !call.is_cut_short) {
    buckets_.AcquireAndKeep(call.charges, now, call.deadline,
                            StoreResponse(StoreReceiver(*this, call)));
  } else {
    buckets_.Acquire(call.charges, now, call.deadline, StoreResponse(StoreReceiver(*this, call)));
  }
  if (call.ArriveSecond()) OnStoreResult(CallPtr(&call));
}

void AcquireAttempt::OnStoreResult(CallPtr call) {
  const std::int64_t latency = (clock_.Now() - call->store_call_start).count();
  store_latency_.Record(latency);
  if (*call->result) {
    const std::int64_t usual = usual_latency_.load(std::memory_order_relaxed);
    usual_latency_.store(usual + (latency - usual) / 8, std::memory_order_relaxed);
  }
  Result<Decision>& result = *call->result;
  if (!result) return end_.OnStoreError(std::move(call), std::move(result.error()));
  Decision decision = std::move(*result);
  call->maybe_charged |= decision.maybe_charged_twice;
  if (decision.outdated) return renewal_.RenewCall(std::move(call));
  return decision.admitted ? end_.Admit(std::move(call), std::move(decision))
                           : OnRefusal(std::move(call), std::move(decision));
}

// The wait counts from the start of the try, because the store computed it for that time.
void AcquireAttempt::OnRefusal(CallPtr call, Decision decision) {
  if (call->wait == nullptr) return end_.Refuse(std::move(call), std::move(decision));
  const auto wait = std::max(decision.retry_after, milliseconds(1));
  const Instant retry_at = AddSaturated(call->wait->try_start, wait);
  if (retry_at > call->wait->until || !HasTime(call->wait->deadline, retry_at)) {
    return end_.Refuse(std::move(call), std::move(decision));
  }
  const TargetPtr bucket = call->charges[LongestRefusal(call->charges, decision)].target;
  const auto verdict = waiting_.QueueRefused(call, bucket, retry_at);
  FollowVerdict(std::move(call), verdict);
}

void AcquireAttempt::FollowVerdict(CallPtr call, Waiting::Verdict verdict) {
  switch (verdict) {
    case Waiting::Verdict::kTry:
      return Try(std::move(call));
    case Waiting::Verdict::kQueued:
      return;
    case Waiting::Verdict::kTooLate:
      return RefuseUntried(std::move(call));
    case Waiting::Verdict::kFull:
      return end_.Fail(std::move(call),
                       {Code::kResourceExhausted,
                        fmt::format("{} requests wait for tokens already; max_waiting is {}",
                                    waiting_.size(), waiting_.max())});
    case Waiting::Verdict::kClosed:
      return end_.Abandon(std::move(call));
    case Waiting::Verdict::kStopped:
      return end_.Stop(std::move(call));
  }
}

bool AcquireAttempt::HasTime(Deadline deadline, Instant at) const {
  if (deadline.is_never()) return true;
  const nanoseconds left = deadline.Left(at);
  const nanoseconds usual(usual_latency_.load(std::memory_order_relaxed));
  return left > nanoseconds(0) && left >= 2 * usual;
}

// The decision is made here, because other requests are ahead, the wait is over, or the amounts
// never fit. The buckets are read only for the statuses of the decision, so a failure of the read
// never admits the call.
void AcquireAttempt::RefuseUntried(CallPtr call) {
  if (!HasTime(call->deadline, clock_.Now())) {
    const milliseconds retry_after = WaitBehind(*call);
    return end_.Refuse(std::move(call), Decision{.retry_after = retry_after, .limits = {}});
  }
  const std::vector<BucketKey> keys = KeysOf(call->charges);
  const Deadline deadline = call->deadline;
  buckets_.ReadRecent(keys, deadline, [this, call = std::move(call)](auto records) mutable {
    const milliseconds min_wait = WaitBehind(*call);
    if (records) {
      Decision refusal = RefusalOf(call->charges, *records, buckets_.Now(), min_wait);
      return end_.Refuse(std::move(call), std::move(refusal));
    }
    if (!IsUnavailable(records.error().code)) {
      return end_.OnStoreError(std::move(call), std::move(records.error()));
    }
    if (!call->deadline.ExpiredAt(clock_.Now())) fail_open_.CountStoreError();
    end_.Refuse(std::move(call), Decision{.retry_after = min_wait, .limits = {}});
  });
}

milliseconds AcquireAttempt::WaitBehind(const PendingAcquire& call) {
  constexpr milliseconds kMinWait{1};
  if (IsOverCapacity(call.charges)) return kNeverAdmitted;
  const auto ahead = waiting_.FindAhead(call.charges);
  if (!ahead || !ahead->retry_at) return kMinWait;
  return std::max(std::chrono::ceil<milliseconds>(*ahead->retry_at - clock_.Now()), kMinWait);
}

}  // namespace weir
