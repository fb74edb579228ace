#include "weir/limiter/adjustment.h"

#include <algorithm>
#include <iterator>

#include "weir/limiter/charges.h"
#include "weir/limiter/state.h"

namespace weir {
namespace {

// Those that get tokens back: somebody may wait there.
std::vector<Charge> GivenBack(const std::vector<Charge>& deltas) {
  std::vector<Charge> back;
  std::ranges::copy_if(deltas, std::back_inserter(back), [](const Charge& charge) {
    return std::ranges::any_of(charge.amounts, [](std::int64_t delta) { return delta < 0; });
  });
  return back;
}

}  // namespace

Adjustment::State StateAfter(const Status& answer) {
  if (answer) return Adjustment::State::kCounts;
  switch (answer.error().code) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kUnauthenticated:
      return Adjustment::State::kRefused;
    default:
      return Adjustment::State::kDoubt;
  }
}

AdjustToken Limiter::State::NewToken() {
  const MutexLock lock(rng_mutex_);
  const std::uint64_t high = rng_.Next();
  return {.high = high, .low = rng_.Next()};
}

AdjustmentPtr Limiter::State::NewAdjustment(std::vector<Charge> deltas) {
  return std::make_shared<Adjustment>(std::move(deltas), NewToken());
}

void Limiter::State::Send(std::vector<AdjustmentPtr> adjustments, Done<void> done) {
  const AdjustmentPtr next = adjustments.front();  // lives as long as the call
  next->state = Adjustment::State::kUnsettled;
  store_adjusts_.Add();
  buckets_.Adjust(next->deltas, next->token, buckets_.Now(),
                  Deadline::After(clock_, options_.lease_timeout),
                  [self = shared_from_this(), adjustments = std::move(adjustments),
                   done = std::move(done)](Status answer) mutable {
                    self->Settle(std::move(adjustments), std::move(answer), std::move(done));
                  });
}

void Limiter::State::Settle(std::vector<AdjustmentPtr> adjustments, Status answer,
                            Done<void> done) {
  const auto state = StateAfter(answer);
  adjustments.front()->state = state;
  if (state != Adjustment::State::kRefused) {
    waiting_.GaveBack(GivenBack(adjustments.front()->deltas));
  }
  adjustments.erase(adjustments.begin());
  if (adjustments.empty()) return done(std::move(answer));
  if (state != Adjustment::State::kDoubt) return Send(std::move(adjustments), std::move(done));
  for (const AdjustmentPtr& unsent : adjustments) {
    auto expected = Adjustment::State::kUnsettled;
    unsent->state.compare_exchange_strong(expected, Adjustment::State::kRefused);
  }
  done(std::move(answer));
}

void Limiter::State::GiveBack(const std::vector<Charge>& charges) {
  std::vector<Charge> all = Opposite(charges);
  if (!all.empty()) Send({NewAdjustment(std::move(all))}, [](const Status&) {});
}

}  // namespace weir
