#include "weir/sim/stoppable_scheduler.h"

namespace weir::sim {

TimerId StoppableScheduler::At(Instant when, Task task) {
  const TimerId id{next_id_++};
  Timer& timer = timers_[id];
  timer.task = std::move(task);
  timer.inner = inner_.At(when, [this, id] { Run(id); });
  return id;
}

// A stop may have been extended meanwhile, so the task checks again when it ends.
void StoppableScheduler::Run(TimerId id) {
  if (is_stopped()) {
    timers_.at(id).inner = inner_.At(goes_on_, [this, id] { Run(id); });
    return;
  }
  auto timer = timers_.extract(id);
  timer.mapped().task();
}

bool StoppableScheduler::Cancel(TimerId id) {
  const auto timer = timers_.extract(id);
  if (timer.empty()) return false;
  inner_.Cancel(timer.mapped().inner);
  return true;
}

void StoppableTransport::Send(HttpRequest request, SendLimits limits, HttpDone done) {
  network_.Send(std::move(request), limits, [this, done = std::move(done)](auto response) mutable {
    if (!scheduler_.is_stopped()) return done(std::move(response));
    scheduler_.Post([done = std::move(done), response = std::move(response)]() mutable {
      done(std::move(response));
    });
  });
}

}  // namespace weir::sim
