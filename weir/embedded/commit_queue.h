// Calls that wait for a commit or for work on the file, and when each must be answered.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/embedded/state_file.h"
#include "weir/runtime/deadline.h"

namespace weir {

/// A state machine without clock, lock or I/O: its owner locks, and runs what it hands out outside
/// the lock. A call is answered once: by its commit, by its job, or when its deadline passes.
///
/// Waiters: added, in flight (BeginCommit), then handed out (TakeCommitted). Requests: added, in
/// flight (BeginCommit), then one after the other started (StartRequest) and finished
/// (FinishRequest).
class CommitQueue {
 public:
  /// What to do to the file between two commits.
  using Job = std::move_only_function<Status(StateFile&)>;
  struct Waiter {
    Deadline deadline;
    Done<void> done;  ///< empty once it was answered because its deadline passed
    /// What to do after the commit if `done` was answered before it. May be empty.
    std::move_only_function<void()> if_late{};
  };
  struct Request {
    Deadline deadline;
    Job job;
    Done<void> done;
  };
  enum class State { kNotBegun, kInFlight };
  struct Expired {
    Done<void> done;
    State state;  ///< kNotBegun: its job will never run
    Job dropped;  ///< to be destroyed outside the lock
  };

  void Add(Waiter waiter) { waiters_.push_back(std::move(waiter)); }
  void Add(Request request) { requests_.push_back(std::move(request)); }
  bool has_new() const { return !waiters_.empty() || !requests_.empty(); }
  /// All calls that are not answered, and waiters that are but whose change is not committed.
  std::size_t size() const;

  /// A commit begins: it will hold every change added so far. REQUIRES: the last one's waiters and
  /// requests were taken.
  void BeginCommit();
  bool in_flight() const { return !committing_.empty() || !begun_.empty(); }
  /// The waiters of the commit in flight.
  std::vector<Waiter> TakeCommitted() { return std::exchange(committing_, {}); }
  /// The next request in flight; an empty job if there is none. It stays known until FinishRequest.
  Job StartRequest();
  /// Of the request that was started; empty if its deadline passed meanwhile.
  Done<void> FinishRequest();
  /// For closing. Requests that are not in flight; they will never run.
  std::vector<Request> TakeNewRequests() { return std::exchange(requests_, {}); }
  /// For closing. Waiters, in flight or not: those that were answered already; all.
  std::vector<Waiter> TakeLateWaiters();
  std::vector<Waiter> TakeWaiters();

  /// The calls whose deadline has passed at `now`.
  std::vector<Expired> TakeExpired(Instant now);
  /// The earliest deadline of a call that was not answered; never, if there is none.
  Deadline NextDeadline() const;

 private:
  std::vector<Waiter> waiters_;
  std::vector<Waiter> committing_;
  std::vector<Request> requests_;
  std::deque<Request> begun_;
  std::optional<Request> running_;  ///< without its job
};

}  // namespace weir
