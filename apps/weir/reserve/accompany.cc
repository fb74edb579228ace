#include "apps/weir/reserve/accompany.h"

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
  void Begin(const Company& company) {
    std::promise<Status> answer;
    answer_ = answer.get_future();
    company.reservation.Renew(company.ttl, [answer = std::move(answer),
                                            wake = company.child.Waker()](Status status) mutable {
      answer.set_value(std::move(status));
      wake();
    });
  }
  std::optional<Status> Take() {
    if (!answer_.valid()) return std::nullopt;
    if (answer_.wait_for(nanoseconds(0)) != std::future_status::ready) return std::nullopt;
    return answer_.get();
  }
  /// Blocks until the renewal has completed, at the latest at the limiter's timeout.
  void Join() {
    if (answer_.valid()) answer_.wait();
  }

 private:
  std::future<Status> answer_;
};

// The loop that waits for the command and drives SlotKeeper:
//
//   Child::Wait(time of the next step) --> ended: Join the renewal, return
//     ^      |
//     |      v
//     +--- result of a renewal --> SlotKeeper --> begin a renewal, or terminate the command
class Companion {
 public:
  explicit Companion(const Company& company)
      : company_(company),
        keeper_(company.ttl, company.reservation.expires(), company.now()),
        reason_("no answer of the store") {
    if (company.reservation.bound()) keeper_.Bound();
  }

  Accompanied Run() {
    for (;;) {
      const auto code = company_.child.Wait(Left());
      if (code) return Ended(*code);
      if (const auto answer = renewal_.Take()) Renewed(*answer);
      Act();
    }
  }

 private:
  nanoseconds Left() const {
    const auto next = keeper_.next();
    return next ? std::max(nanoseconds(*next - company_.now()), nanoseconds(0))
                : nanoseconds::max();
  }

  Accompanied Ended(int code) {
    renewal_.Join();
    return {.code = code, .lost = keeper_.is_lost() ? reason_ : "", .released = was_released_};
  }

  void Renewed(const Status& answer) {
    if (answer) {
      keeper_.Renewed(company_.reservation.expires(), company_.now());
      if (company_.reservation.bound()) keeper_.Bound();
      return;
    }
    reason_ = answer.error().message;
    if (answer.error().code != Code::kNotFound) return keeper_.Failed(company_.now());
    keeper_.Gone(company_.now());
    was_released_ = !keeper_.is_lost() && !keeper_.next();
  }

  void Act() {
    switch (keeper_.Advance(company_.now())) {
      case SlotKeeper::Step::kWait:
        return;
      case SlotKeeper::Step::kRenew:
        return renewal_.Begin(company_);
      case SlotKeeper::Step::kGiveUp:
        return company_.child.Terminate();
    }
  }

  const Company& company_;
  SlotKeeper keeper_;
  Renewal renewal_;
  std::string reason_;
  bool was_released_ = false;
};

}  // namespace

Accompanied Accompany(const Company& company) { return Companion(company).Run(); }

}  // namespace weir::app
