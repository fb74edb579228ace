#include "weir/limiter/adjust_sender.h"

#include <algorithm>
#include <iterator>

#include "weir/base/owed_result.h"
#include "weir/limiter/charges/held_charges.h"
#include "weir/runtime/add_saturated.h"

namespace weir {
namespace {

// Returns the charges that return tokens: requests may wait for these buckets.
std::vector<Charge> GivenBack(const std::vector<Charge>& deltas) {
  std::vector<Charge> back;
  std::ranges::copy_if(deltas, std::back_inserter(back), [](const Charge& charge) {
    return std::ranges::any_of(charge.amounts, [](std::int64_t delta) { return delta < 0; });
  });
  return back;
}

// Returns the time within which a repeated adjust must be applied: after that, a store may have
// forgotten its id. An adjust that was never sent has no such limit.
milliseconds LeftToRepeat(const Adjustment& next, UnixMillis now) {
  return next.first_sent ? *next.first_sent + kAdjustIdLifetime - now : milliseconds::max();
}

// Holds the owner, as the deleter of a shared_ptr with its own reference count. Aligned, so that
// two such counts are not in one cache line.
struct alignas(kCacheLine) OwnerReference {
  std::shared_ptr<void> owner;
  void operator()(AdjustSender*) { owner.reset(); }
};

// A refusal that follows a lost result does not say that nothing was changed, so its code must not
// be a definite one.
Status ToCaller(Status result, Adjustment::State state) {
  if (result || state != Adjustment::State::kDoubt || !IsDefinite(result.error().code)) {
    return result;
  }
  Error error = std::move(result.error());
  error.code = Code::kUnavailable;
  error.message += "; an earlier request of this adjust may count";
  return Fail(std::move(error));
}

Error TooLateToRepeat() {
  return {Code::kDeadlineExceeded,
          "an adjust of the lease has been in doubt for 10 minutes, after which a store may forget "
          "it; it is not sent again, so that it does not count twice"};
}

}  // namespace

/// Receives the result of the first adjust of a run.
struct AdjustSender::AdjustReceiver {
  std::shared_ptr<AdjustSender> sender{};
  AdjustRun run{};

  explicit operator bool() const { return sender != nullptr; }
  void operator()(Status&& result) {
    const auto state = StateAfter(result, run.unsent.front()->may_count);
    sender->RecordResult(std::move(run), state, ToCaller(std::move(result), state));
  }
};

AdjustSender::AdjustSender(BucketStore& store, const Clock& clock, Waiting& waiting,
                           const Options& options)
    : buckets_(store),
      clock_(clock),
      waiting_(waiting),
      timeout_(options.timeout),
      callbacks_(options.callbacks),
      rng_(options.seed ? *options.seed : SystemSeed()) {}

void AdjustSender::Bind(const std::shared_ptr<void>& owner) {
  owner_ = owner;
  for (auto& owned : owned_by_thread_) owned = {this, OwnerReference{owner}};
}

void AdjustSender::Close() {
  closed_.store(true, std::memory_order_release);
  owned_by_thread_ = {};
}

std::shared_ptr<AdjustSender> AdjustSender::Owned() { return {owner_.lock(), this}; }

AdjustId AdjustSender::NewAdjustId() {
  const MutexLock lock(rng_mutex_);
  const std::uint64_t high = rng_.Next();
  return {.high = high, .low = rng_.Next()};
}

AdjustmentPtr AdjustSender::NewAdjustment(std::vector<Charge> deltas, bool stores_limits) {
  AdjustTerms terms = NewAdjustId();
  terms.stores_limits = stores_limits;
  return std::make_shared<Adjustment>(std::move(deltas), terms);
}

void AdjustSender::SendRun(AdjustRun run) {
  const AdjustmentPtr next = run.unsent.front();  // keeps next->deltas valid during the call
  const UnixMillis now = buckets_.Now();
  const milliseconds left = LeftToRepeat(*next, now);
  if (left <= milliseconds(0)) {
    return RecordResult(std::move(run), Adjustment::State::kGivenUp, Fail(TooLateToRepeat()));
  }
  if (!next->first_sent) next->first_sent = now;
  sent_.Add();
  const auto send_deadline = Deadline::At(AddSaturated(clock_.Now(), std::min(timeout_, left)));
  const Deadline deadline = std::min(send_deadline, run.deadline);
  using AdjustDone = OwedResult<void, "the store dropped the adjust", AdjustReceiver>;
  buckets_.Adjust(next->deltas, next->terms, now, deadline,
                  AdjustDone({.sender = Owned(), .run = std::move(run)}));
}

// `state` is stored after `may_count`: once the state is kDoubt, the lease may pass the adjust to
// another run. Adjusts of this run that are not sent become kDoubt too, so that Settle() sends them
// in order.
void AdjustSender::RecordResult(AdjustRun run, Adjustment::State state, Status result) {
  const AdjustmentPtr sent = std::move(run.unsent.front());
  run.unsent.erase(run.unsent.begin());
  if (!result && run.first_error) run.first_error = result;
  const bool in_doubt = state == Adjustment::State::kDoubt;
  if (in_doubt) in_doubt_.Add();
  if (state == Adjustment::State::kGivenUp) given_up_.Add();
  sent->may_count = sent->may_count || in_doubt;
  sent->state = state;
  // If the result is in doubt, the tokens may have been returned, so waiting requests try as well.
  if (state != Adjustment::State::kRefused) waiting_.OnTokensReturned(GivenBack(sent->deltas));
  if (!run.unsent.empty() && !in_doubt) return SendRun(std::move(run));
  for (const AdjustmentPtr& unsent : run.unsent) unsent->state = Adjustment::State::kDoubt;
  run.done(run.settles ? std::move(run.first_error) : std::move(result));
}

void AdjustSender::GiveBack(const std::vector<Charge>& charges) {
  std::vector<Charge> all = OppositeOf(charges);
  if (all.empty()) return;
  SendRun({.unsent = {NewAdjustment(std::move(all))}, .done = [](const Status&) {}});
}

}  // namespace weir
