// Sending the writes of a call: at once, or in turn.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "weir/dynamo/bucket_running.h"

namespace weir::dynamo {

/// A send that has no turn yet. Its turn comes, or its time is over: the first of them takes it.
struct DynamoBucketStore::Waiting {
  Waiting(RunningPtr call, CallStep::Send write)
      : running(std::move(call)), send(std::move(write)) {}

  /// False if it was taken before.
  bool Take(Scheduler& scheduler) {
    const std::optional<TimerId> timer = TakeTimer();
    if (timer && *timer != TimerId{}) scheduler.Cancel(*timer);
    return timer.has_value();
  }
  /// Unless it was taken.
  void Arm(Scheduler& scheduler, Instant when, Task expire) {
    const MutexLock lock(mutex_);
    if (!is_taken_) expires_ = scheduler.At(when, std::move(expire));
  }

  const RunningPtr running;
  CallStep::Send send;

 private:
  std::optional<TimerId> TakeTimer() {
    const MutexLock lock(mutex_);
    if (std::exchange(is_taken_, true)) return std::nullopt;
    return expires_;
  }

  Mutex mutex_;
  bool is_taken_ WEIR_GUARDED_BY(mutex_) = false;
  TimerId expires_ WEIR_GUARDED_BY(mutex_){};
};

void DynamoBucketStore::WaitForTurn(const RunningPtr& running, CallStep::Send send) {
  const auto waiting = std::make_shared<Waiting>(running, std::move(send));
  const std::size_t charge = waiting->send.charge;
  const BucketKey& key = running->KeyOf(charge);
  const bool is_free = turns_.Enter(key, [this, waiting, charge] {
    if (!waiting->Take(scheduler_)) return false;
    const RunningPtr& call = waiting->running;
    auto newest = images_.Find(call->KeyOf(charge));
    CallStep step = call->On([&](BucketCall& on) { return on.OnTurn(charge, std::move(newest)); });
    if (KeepTurn(call, charge, step)) return true;
    Follow(call, std::move(step));
    return false;
  });
  if (is_free) return Submit(running, std::move(waiting->send));
  if (running->deadline.is_never()) return;
  // After the deadline it is answered without being sent.
  waiting->Arm(scheduler_, running->deadline.at(), [this, weak = std::weak_ptr(waiting)] {
    const auto late = weak.lock();
    if (late == nullptr || !late->Take(scheduler_)) return;
    late->send.in_turn = false;
    Submit(late->running, std::move(late->send));
  });
}

bool DynamoBucketStore::KeepTurn(const RunningPtr& running, std::size_t charge, CallStep& step) {
  Learn(step);
  const auto own = std::ranges::find_if(step.sends, [charge](const CallStep::Send& send) {
    return send.charge == charge && send.in_turn;
  });
  if (own == step.sends.end()) return false;
  CallStep::Send send = std::move(*own);
  step.sends.erase(own);
  Submit(running, std::move(send));
  Follow(running, std::move(step));
  return true;
}

void DynamoBucketStore::Submit(const RunningPtr& running, CallStep::Send send) {
  if (send.repairs) images_.NoteRepair(running->KeyOf(send.charge), scheduler_.clock().Now());
  auto then = [this, running, charge = send.charge, has_turn = send.in_turn](auto outcome) {
    CallStep step =
        running->On([&](BucketCall& call) { return call.OnWrite(charge, std::move(outcome)); });
    if (has_turn) {
      if (KeepTurn(running, charge, step)) return;
      // Before the answer: with the last of them this store may go.
      turns_.Leave(running->KeyOf(charge));
    }
    Follow(running, std::move(step));
  };
  if (send.writes.size() == 1) {
    return table_.Apply(send.writes.front(), send.repeatable, running->deadline, std::move(then));
  }
  const std::string token = fmt::format("{:016x}{:016x}", Draw(), Draw());
  table_.Transact(send.writes, token, running->deadline, std::move(then));
}

}  // namespace weir::dynamo
