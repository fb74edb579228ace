// The calls that wait for a commit or for work on the file, in their states and with their
// deadlines.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/embedded/file/state_file.h"
#include "weir/runtime/deadline.h"

namespace weir {

/// A state machine without a clock, a lock or I/O: its owner locks it. The owner runs the returned
/// callbacks and jobs outside the lock. Each call completes once: by its commit, by its job, or
/// when its deadline passes.
///
/// Waiter:   Add --> new -- BeginCommit --> in flight -- TakeCommitted --> `done`, or
///                                                           `after_late_commit`
/// Request:  Add --> new -- BeginCommit --> in flight -- StartRequest --> running
///                                                       running -- FinishRequest --> `done`
///
/// TakeExpired takes the `done` of a call in any of these states. A waiter then stays until its
/// commit, for `after_late_commit`. A request that is not running is removed; its job never runs.
class CommitQueue {
 public:
  /// Work on the file between two commits.
  using Job = std::move_only_function<Status(StateFile&)>;
  struct Waiter {
    Deadline deadline;
    Done<void> done;  ///< empty once the call has completed because its deadline passed
    /// Work to do after the commit if `done` ran before the commit. May be empty.
    std::move_only_function<void()> after_late_commit{};
  };
  struct Request {
    Deadline deadline;
    Job job;
    Done<void> done;
  };
  enum class State { kNotBegun, kInFlight };
  struct Expired {
    Done<void> done;
    State state;  ///< kNotBegun: the job will never run
    Job dropped;  ///< must be destroyed outside the lock
  };

  void Add(Waiter waiter) { waiters_.push_back(std::move(waiter)); }
  void Add(Request request) { requests_.push_back(std::move(request)); }
  bool has_new() const { return !waiters_.empty() || !requests_.empty(); }
  /// Returns the number of calls that have not completed, or whose deadline has passed but whose
  /// commit or job has not ended.
  std::size_t size() const;

  /// Begins a commit, which will contain every change that was made before this call. REQUIRES: the
  /// waiters and requests of the last commit were taken.
  void BeginCommit();
  bool in_flight() const { return !committing_.empty() || !in_flight_requests_.empty(); }
  /// Takes the waiters of the commit in flight.
  std::vector<Waiter> TakeCommitted() { return std::exchange(committing_, {}); }
  /// Returns the job of the next request in flight, or an empty job if there is none. The request
  /// is the running one until FinishRequest.
  Job StartRequest();
  /// Returns the callback of the running request, or an empty one if its deadline has passed.
  Done<void> FinishRequest();
  /// For closing: takes the requests that are not in flight. They will never run.
  std::vector<Request> TakeNewRequests() { return std::exchange(requests_, {}); }
  /// For closing: take waiters, in flight or not. TakeLateWaiters takes those that have completed
  /// already, TakeWaiters takes all.
  std::vector<Waiter> TakeLateWaiters();
  std::vector<Waiter> TakeWaiters();

  /// Takes the callbacks of the calls whose deadline has passed at `now`.
  std::vector<Expired> TakeExpired(Instant now);
  /// Returns the earliest deadline of a call that has not completed, or never if there is none.
  Deadline NextDeadline() const;

 private:
  std::vector<Waiter> waiters_;
  std::vector<Waiter> committing_;
  std::vector<Request> requests_;
  std::deque<Request> in_flight_requests_;
  std::optional<Request> running_;  ///< the request whose job was handed out
};

}  // namespace weir
