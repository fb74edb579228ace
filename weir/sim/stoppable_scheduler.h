// A process that stops for a while, such as a suspended one: its tasks wait, the rest of the world
// continues.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "weir/aws/http/http.h"
#include "weir/runtime/scheduler.h"

namespace weir::sim {

/// The scheduler of one process of a simulated world. Tasks that become due while the process is
/// stopped run when it continues. `inner` must outlive this object, and this object must outlive
/// its last task; pending tasks are destroyed without running. Not thread-safe.
class StoppableScheduler final : public Scheduler {
 public:
  explicit StoppableScheduler(Scheduler& inner) : inner_(inner) {}
  StoppableScheduler(const StoppableScheduler&) = delete;
  StoppableScheduler& operator=(const StoppableScheduler&) = delete;

  const Clock& clock() const override { return inner_.clock(); }
  void Post(Task task) override { At(clock().Now(), std::move(task)); }
  TimerId At(Instant when, Task task) override;
  bool Cancel(TimerId id) override;

  /// Stops the process until then. A stop that is in effect and ends later is not shortened.
  void StopUntil(Instant until) { goes_on_ = std::max(goes_on_, until); }
  bool is_stopped() const { return clock().Now() < goes_on_; }

 private:
  struct Timer {
    Task task;
    TimerId inner{};
  };
  // Runs the task, or postpones it while the process is stopped.
  void Run(TimerId id);

  Scheduler& inner_;
  Instant goes_on_{INT64_MIN};
  std::uint64_t next_id_ = 1;
  std::map<TimerId, Timer> timers_;
};

/// Passes responses on, or postpones them while the process is stopped. Network and scheduler must
/// outlive it and every response.
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
