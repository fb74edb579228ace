#include "weir/limiter/adjustment.h"

#include <algorithm>
#include <iterator>

#include "weir/limiter/charges.h"
#include "weir/limiter/limiter_state.h"
#include "weir/runtime/later.h"

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

// Returns the time left for a repeated adjust: it must be applied before a store may have forgotten
// its id. An adjust that was never sent has no such limit.
milliseconds LeftToRepeat(const Adjustment& next, UnixMillis now) {
  return next.first_sent ? *next.first_sent + kTokenMemory - now : milliseconds::max();
}

Error TooLateToRepeat() {
  return {Code::kDeadlineExceeded,
          "an adjust of the lease has been in doubt for 10 minutes, after which a store may forget "
          "it; it is not sent again, so that it does not count twice"};
}

}  // namespace

Adjustment::State StateAfter(const Status& answer, bool may_count) {
  if (answer) return Adjustment::State::kCounts;
  switch (answer.error().code) {
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
      return may_count ? Adjustment::State::kDoubt : Adjustment::State::kRefused;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
      return Adjustment::State::kRefused;
    default:
      return Adjustment::State::kDoubt;
  }
}

AdjustId Limiter::State::NewToken() {
  const MutexLock lock(rng_mutex_);
  const std::uint64_t high = rng_.Next();
  return {.high = high, .low = rng_.Next()};
}

AdjustmentPtr Limiter::State::NewAdjustment(std::vector<Charge> deltas) {
  return std::make_shared<Adjustment>(std::move(deltas), NewToken());
}

void Limiter::State::Send(AdjustRun run) {
  const AdjustmentPtr next = run.unsent.front();  // keeps next->deltas valid during the call
  const UnixMillis now = buckets_.Now();
  const milliseconds left = LeftToRepeat(*next, now);
  if (left <= milliseconds(0)) {
    adjusts_given_up_.Add();
    return Settle(std::move(run), Adjustment::State::kGivenUp, weir::Fail(TooLateToRepeat()));
  }
  if (!next->first_sent) next->first_sent = now;
  store_adjusts_.Add();
  buckets_.Adjust(next->deltas, next->token, now,
                  Deadline::At(Later(clock_.Now(), std::min(options_.lease_timeout, left))),
                  [self = shared_from_this(), run = std::move(run)](Status answer) mutable {
                    const auto state = StateAfter(answer, run.unsent.front()->may_count);
                    self->Settle(std::move(run), state, std::move(answer));
                  });
}

// The state is stored after may_count: when it is kDoubt, the lease may pass the adjust to another
// run. Adjusts of this run that are not sent become kDoubt too, so that Settle() sends them in
// order.
void Limiter::State::Settle(AdjustRun run, Adjustment::State state, Status answer) {
  const AdjustmentPtr sent = std::move(run.unsent.front());
  run.unsent.erase(run.unsent.begin());
  if (!answer && run.first_error) run.first_error = answer;
  const bool in_doubt = state == Adjustment::State::kDoubt;
  if (in_doubt) adjusts_in_doubt_.Add();
  sent->may_count = sent->may_count || in_doubt;
  sent->state = state;
  // In doubt, the tokens may have been returned, so waiting requests try as well.
  if (state != Adjustment::State::kRefused) waiting_.GaveBack(GivenBack(sent->deltas));
  if (!run.unsent.empty() && !in_doubt) return Send(std::move(run));
  for (const AdjustmentPtr& kept : run.unsent) kept->state = Adjustment::State::kDoubt;
  run.done(run.settles ? std::move(run.first_error) : std::move(answer));
}

void Limiter::State::GiveBack(const std::vector<Charge>& charges) {
  std::vector<Charge> all = Opposite(charges);
  if (all.empty()) return;
  Send({.unsent = {NewAdjustment(std::move(all))}, .done = [](const Status&) {}});
}

}  // namespace weir
