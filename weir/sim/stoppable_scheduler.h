// A process that stops for a while: nothing in it runs, everything around it goes on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "weir/aws/http.h"
#include "weir/runtime/scheduler.h"

namespace weir::sim {

/// The scheduler of one process of a simulated world. Tasks that fall due while it is stopped run
/// when it goes on. `inner` must outlive it, and it the last task; pending ones are destroyed
/// unrun. Not thread-safe.
class StoppableScheduler final : public Scheduler {
 public:
  explicit StoppableScheduler(Scheduler& inner) : inner_(inner) {}
  StoppableScheduler(const StoppableScheduler&) = delete;
  StoppableScheduler& operator=(const StoppableScheduler&) = delete;

  const Clock& clock() const override { return inner_.clock(); }
  void Post(Task task) override { At(clock().Now(), std::move(task)); }
  TimerId At(Instant when, Task task) override;
  bool Cancel(TimerId id) override;

  /// Stops the process; a stop that ends later goes on.
  void StopUntil(Instant until) { goes_on_ = std::max(goes_on_, until); }
  bool is_stopped() const { return clock().Now() < goes_on_; }

 private:
  struct Timer {
    Task task;
    TimerId inner{};
  };
  void Run(TimerId id);

  Scheduler& inner_;
  Instant goes_on_{INT64_MIN};
  std::uint64_t next_id_ = 1;
  std::map<TimerId, Timer> timers_;
};

/// Passes answers on when the process is not stopped. Both must outlive it and every answer.
class StoppableTransport final : public HttpTransport {
 public:
  StoppableTransport(HttpTransport& network, StoppableScheduler& scheduler)
      : network_(network), scheduler_(scheduler) {}
  void Send(HttpRequest request, SendLimits limits, HttpDone done) override;

 private:
  HttpTransport& network_;
  StoppableScheduler& scheduler_;
};

}  // namespace weir::sim
