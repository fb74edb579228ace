// Drives an AggregatorLease: sends its requests to the table.
#pragma once

#include <functional>
#include <memory>

#include "weir/aggregator/lease/aggregator_lease.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// Used on the scheduler's thread only. The table, the scheduler and the log must outlive it and
/// its requests.
class LeaseRun : public std::enable_shared_from_this<LeaseRun> {
 public:
  struct Parts {
    Table& table;
    Scheduler& scheduler;
    Log& log;
  };
  LeaseRun(const Parts& parts, LeaseOptions options);

  /// Begins to acquire the lease. `changed` is called after each event of the lease, until Stop.
  void Start(std::function<void()> changed);
  /// Ends the use of the lease (AggregatorLease::Stop).
  void Stop();
  /// Calls `idle` when no request is in flight. REQUIRES: Stop was called.
  void WhenIdle(std::function<void()> idle);

  const AggregatorLease& lease() const { return lease_; }

 private:
  void CarryOut(AggregatorLease::Request request);
  /// Sends the request, if there is one, then reports the change.
  void Continue(AggregatorLease::Request request);
  void SetTimer();
  /// Returns a callback that passes its result to `handle` in a task of the scheduler. It keeps
  /// this object alive.
  template <class T, class Handle>
  auto OnScheduler(Handle handle);
  Instant Now() const { return parts_.scheduler.clock().Now(); }

  const Parts parts_;
  AggregatorLease lease_;
  std::function<void()> changed_;
  std::function<void()> idle_;
  bool is_stopped_ = false;
  std::optional<TimerId> timer_;
  int in_flight_ = 0;
};

}  // namespace weir::dynamo
