// The second part of an Acquire: calls the store and handles its result.
//
// The store may complete before or after its Acquire returns, on any thread, and reads the charges
// until it returns. So the result and the return meet in the call (Call::Meet):
//
//   AskStore: release the call, call the store ----+
//                                                  +--> the second one: Answered
//   StoreAnswer: keep the result ------------------+
//
// The charges therefore live as long as the store may read them, and no further call to the store
// begins within a call to it.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weir/limiter/charges.h"
#include "weir/limiter/limiter_state.h"
#include "weir/runtime/later.h"

namespace weir {
namespace {

Error Closed() {
  return {Code::kCancelled, "the limiter was closed while the request waited for tokens"};
}

// Returns true for the errors of an unavailable store, to which the policy applies.
bool IsAway(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded ||
         code == Code::kResourceExhausted;
}

std::vector<BucketKey> KeysOf(const std::vector<Charge>& charges) {
  std::vector<BucketKey> keys;
  keys.reserve(charges.size());
  for (const Charge& charge : charges) keys.push_back(charge.target->key);
  return keys;
}

}  // namespace

// The Done that the store gets. If it is destroyed without having run, it completes the call with
// kCancelled.
class Limiter::State::StoreAnswer {
 public:
  StoreAnswer(State& state, Call& call) : state_(&state), call_(&call) {}
  StoreAnswer(StoreAnswer&& other) noexcept
      : state_(other.state_), call_(std::exchange(other.call_, nullptr)) {}
  StoreAnswer& operator=(StoreAnswer&&) = delete;
  ~StoreAnswer() {
    if (call_ != nullptr) (*this)(weir::Fail(Code::kCancelled, "the store dropped the call"));
  }
  void operator()(Result<Decision> answer) {
    Call* const call = std::exchange(call_, nullptr);
    call->answer.emplace(std::move(answer));
    if (call->Meet()) state_->Answered(CallPtr(call));
  }

 private:
  State* state_;
  Call* call_;
};

void Limiter::State::Try(CallPtr call) {
  if (!allowances_.Take(call)) AskStore(std::move(call));
}

void Limiter::State::Serve(CallPtr call, Decision decision) {
  return decision.admitted ? Admit(std::move(call), std::move(decision))
                           : Refuse(std::move(call), std::move(decision));
}

// Until they meet, the StoreAnswer and this function share the call.
void Limiter::State::AskStore(CallPtr owned) {
  Call& call = *owned.release();
  call.met.store(false, std::memory_order_relaxed);
  const UnixMillis now = buckets_.Now();
  if (Patience* const patience = call.patience.get()) {
    patience->tried = clock_.Now();  // after `now`, so that a wait counted from it is long enough
    patience->stamp = waiting_.Stamp(call.charges);
  }
  store_acquires_.Add();
  call.asked = clock_.Now();
  // The policy decides what the store does with tokens that it takes after the deadline: it keeps
  // them taken if the policy admits the request.
  call.policy = PolicyOf(call);
  if (call.policy == OnUnavailable::kAllow) {
    buckets_.AcquireAndKeep(call.charges, now, call.deadline, StoreAnswer(*this, call));
  } else {
    buckets_.Acquire(call.charges, now, call.deadline, StoreAnswer(*this, call));
  }
  if (call.Meet()) Answered(CallPtr(&call));
}

void Limiter::State::Answered(CallPtr call) {
  store_latency_.Record((clock_.Now() - call->asked).count());
  Result<Decision>& answer = *call->answer;
  if (!answer) return Unanswered(std::move(call), std::move(answer.error()));
  Decision decision = std::move(*answer);
  call->maybe_charged |= decision.maybe_charged_twice;
  if (decision.outdated) return Renew(std::move(call));
  return decision.admitted ? Admit(std::move(call), std::move(decision))
                           : Refused(std::move(call), std::move(decision));
}

// If the Limiter was closed during the try of a waiting call, its tokens go back: the lease could
// not outlive the Limiter.
void Limiter::State::Admit(CallPtr call, Decision decision) {
  for (std::size_t i = 0; i < decision.shards.size(); ++i) {
    call->charges[i].shard = decision.shards[i];
  }
  if (call->patience != nullptr) {
    waiting_.Leave(*call);
    if (waiting_.closed()) {
      GiveBack(call->charges);
      return Abandon(std::move(call));
    }
  }
  charged_.Add();
  decision.maybe_charged_twice |= call->maybe_charged;
  call->done(Outcome(std::move(decision), Lease(owner_, std::move(call->charges))));
}

// The wait counts from the start of the try, because the store computed it for that time.
void Limiter::State::Refused(CallPtr call, Decision decision) {
  if (call->patience == nullptr) return Refuse(std::move(call), std::move(decision));
  const auto wait = std::max(decision.retry_after, milliseconds(1));
  const Instant retry_at = Later(call->patience->tried, wait);
  if (retry_at > call->patience->until) return Refuse(std::move(call), std::move(decision));
  const TargetPtr bucket = call->charges[LongestRefusal(call->charges, decision)].target;
  const auto verdict = waiting_.Stay(call, bucket, retry_at);
  Place(std::move(call), verdict);
}

// The decision is made here, because other requests are ahead. The buckets are read only for the
// statuses of the decision, so a failure of the read never admits the call.
void Limiter::State::RefuseBehind(CallPtr call) {
  const std::vector<BucketKey> keys = KeysOf(call->charges);
  const Deadline deadline = call->deadline;
  buckets_.ReadRecent(keys, deadline, [this, call = std::move(call)](auto records) mutable {
    const milliseconds at_least = WaitBehind(*call);
    if (records) {
      Decision refusal = RefusalOf(call->charges, *records, buckets_.Now(), at_least);
      return Refuse(std::move(call), std::move(refusal));
    }
    if (!IsAway(records.error().code)) {
      return Unanswered(std::move(call), std::move(records.error()));
    }
    store_errors_.Add();
    Refuse(std::move(call), Decision{.retry_after = at_least, .limits = {}});
  });
}

milliseconds Limiter::State::WaitBehind(const Call& call) {
  constexpr milliseconds kLeast{1};
  const auto ahead = waiting_.FindAhead(call.charges);
  if (!ahead || !ahead->retry_at) return kLeast;
  return std::max(std::chrono::ceil<milliseconds>(*ahead->retry_at - clock_.Now()), kLeast);
}

void Limiter::State::Expire(CallPtr call) {
  call->deadline = Deadline::After(clock_, call->patience->budget);
  RefuseBehind(std::move(call));
}

void Limiter::State::Abandon(CallPtr call) { Fail(std::move(call), Closed()); }

void Limiter::State::Refuse(CallPtr call, Decision decision) {
  waiting_.Leave(*call);
  refused_.Add();
  decision.maybe_charged_twice |= call->maybe_charged;
  call->done(Outcome(std::move(decision), Lease()));
}

void Limiter::State::Fail(CallPtr call, Error error) {
  waiting_.Leave(*call);
  errors_.Add();
  call->done(weir::Fail(std::move(error)));
}

OnUnavailable Limiter::State::PolicyOf(const Call& call) const {
  return call.policy.value_or(resolver_.last_on_unavailable().value_or(options_.on_unavailable));
}

void Limiter::State::Unanswered(CallPtr call, Error error) {
  const TargetPtr own = call->charges.front().target;
  Unanswered(std::move(call), std::move(error), own->key.entity, own->key.resource);
}

// There is no decision. If the store is unavailable and the policy is to allow, the call is
// admitted without a charge; otherwise it fails.
void Limiter::State::Unanswered(CallPtr call, Error error, std::string_view entity,
                                std::string_view resource) {
  if (call->patience != nullptr && waiting_.closed()) return Abandon(std::move(call));
  if (IsAway(error.code)) store_errors_.Add();
  if (!IsAway(error.code) || PolicyOf(*call) == OnUnavailable::kBlock) {
    return Fail(std::move(call), std::move(error));
  }
  waiting_.Leave(*call);
  unprotected_.Add();
  uncharged_.Admitted(entity, resource, error);
  call->done(
      Outcome(Decision{.admitted = true, .maybe_charged_twice = call->maybe_charged, .limits = {}},
              Lease()));
}

}  // namespace weir
