// The store is asked, and what becomes of its answer.
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

// What the policy answers for: the store did not.
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

// What the store is given to answer. Dropped unrun, it answers for itself.
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

// Nobody is ahead of the call.
void Limiter::State::Try(CallPtr call) {
  if (!allowances_.Take(call)) AskStore(std::move(call));
}

void Limiter::State::Serve(CallPtr call, Decision decision) {
  return decision.admitted ? Admit(std::move(call), std::move(decision))
                           : Refuse(std::move(call), std::move(decision));
}

// The call belongs to its answer and to this function, until they meet.
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
  // The store has to know what becomes of a request that it answers too late.
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

void Limiter::State::Refused(CallPtr call, Decision decision) {
  if (call->patience == nullptr) return Refuse(std::move(call), std::move(decision));
  const auto wait = std::max(decision.retry_after, milliseconds(1));
  const Instant retry_at = Later(call->patience->tried, wait);
  if (retry_at > call->patience->until) return Refuse(std::move(call), std::move(decision));
  const TargetPtr bucket = call->charges[LongestRefusal(call->charges, decision)].target;
  const auto verdict = waiting_.Stay(call, bucket, retry_at);
  Place(std::move(call), verdict);
}

// Without a try, because others are ahead: the decision is made here. The buckets are read for its
// statuses only, so that no failure of the read admits the call.
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

// No decision: an error, or what the policy says where the store is away.
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
