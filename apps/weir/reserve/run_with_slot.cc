#include "apps/weir/reserve/run_with_slot.h"

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "apps/weir/reserve/slot_keeper.h"

namespace weir::app {
namespace {

/// A renewal in flight. The thread that waits for the command reads its result; the callback of the
/// renewal only stores the result and wakes that thread.
class Renewal {
 public:
  void Begin(const RenewalTarget& target) {
    std::promise<Status> result;
    result_ = result.get_future();
    target.reservation.Renew(target.ttl, [result = std::move(result),
                                          wake = target.child.Waker()](Status status) mutable {
      result.set_value(std::move(status));
      wake();
    });
  }
  std::optional<Status> TakeResult() {
    if (!result_.valid()) return std::nullopt;
    if (result_.wait_for(nanoseconds(0)) != std::future_status::ready) return std::nullopt;
    return result_.get();
  }
  /// Blocks until the renewal has completed, at the latest at the limiter's timeout.
  void Join() {
    if (result_.valid()) result_.wait();
  }

 private:
  std::future<Status> result_;
};

// The loop that waits for the command and drives SlotKeeper:
//
//   Child::Wait(time of the next step) --> ended: Join the renewal, return
//     ^      |
//     |      v
//     +--- result of a renewal --> SlotKeeper --> begin a renewal, or terminate the command
class RenewalLoop {
 public:
  explicit RenewalLoop(const RenewalTarget& target)
      : target_(target),
        keeper_(target.ttl, target.reservation.expires(), target.now()),
        reason_("the store did not respond") {
    if (target.reservation.bound()) keeper_.Bound();
  }

  CommandOutcome Run() {
    for (;;) {
      const auto code = target_.child.Wait(Left());
      if (code) return Finish(*code);
      if (const auto result = renewal_.TakeResult()) OnRenewal(*result);
      TakeStep();
    }
  }

 private:
  nanoseconds Left() const {
    const auto next = keeper_.next();
    return next ? std::max(nanoseconds(*next - target_.now()), nanoseconds(0)) : nanoseconds::max();
  }

  CommandOutcome Finish(int code) {
    renewal_.Join();
    return {.code = code, .lost = keeper_.is_lost() ? reason_ : "", .released = was_released_};
  }

  void OnRenewal(const Status& result) {
    if (result) {
      keeper_.Renewed(target_.reservation.expires(), target_.now());
      if (target_.reservation.bound()) keeper_.Bound();
      return;
    }
    reason_ = result.error().message;
    if (result.error().code != Code::kNotFound) return keeper_.Failed(target_.now());
    keeper_.NotHeld(target_.now());
    was_released_ = !keeper_.is_lost() && !keeper_.next();
  }

  void TakeStep() {
    switch (keeper_.Advance(target_.now())) {
      case SlotKeeper::Step::kWait:
        return;
      case SlotKeeper::Step::kRenew:
        return renewal_.Begin(target_);
      case SlotKeeper::Step::kGiveUp:
        return target_.child.Terminate();
    }
  }

  const RenewalTarget& target_;
  SlotKeeper keeper_;
  Renewal renewal_;
  std::string reason_;
  bool was_released_ = false;
};

}  // namespace

CommandOutcome RunWithSlot(const RenewalTarget& target) { return RenewalLoop(target).Run(); }

}  // namespace weir::app
