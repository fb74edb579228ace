// A CommitQueue with a bug, which the simulation must find. For tests only.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "weir/embedded/commit/commit_queue.h"

namespace weir {

enum class QueueBug {
  kNone,
  kExpiresEarly,
  kLosesWhatExpiresWhileItRuns,
  kHidesTheDeadlineOfTheRunning,
  kForgetsWhatFollowsALateCommit,
  kCompletesWhatCameAfterTheCommitBegan,
  kLeavesTheLastWaiterToTheNextCommit,
  kRunsWhatWasNotBegun,
  kCompletesTheExpiredAgain,
  kReversesRequests,
  kDoesNotCountTheRunning,
  kForgetsLateWaitersOnClosing,
};

// A CommitQueue with one planted bug.
class PlantedQueue {
 public:
  explicit PlantedQueue(QueueBug bug) : bug_(bug) {}

  void Add(CommitQueue::Waiter waiter) { queue_.Add(std::move(waiter)); }
  void Add(CommitQueue::Request request) {
    if (bug_ == QueueBug::kCompletesTheExpiredAgain) {
      const auto shared = std::make_shared<Done<void>>(std::move(request.done));
      request.done = [shared](Status status) { (*shared)(std::move(status)); };
      request.job = [this, shared, job = std::move(request.job)](StateFile& file) mutable {
        result_ = shared;
        return job(file);
      };
    }
    queue_.Add(std::move(request));
  }
  std::size_t size() const {
    return queue_.size() - (bug_ == QueueBug::kDoesNotCountTheRunning && is_running_ ? 1 : 0);
  }
  void BeginCommit() {
    if (bug_ == QueueBug::kReversesRequests) {
      std::vector<CommitQueue::Request> requests = queue_.TakeNewRequests();
      std::ranges::reverse(requests);
      for (CommitQueue::Request& request : requests) queue_.Add(std::move(request));
    }
    queue_.BeginCommit();
  }
  std::vector<CommitQueue::Waiter> TakeCommitted() {
    auto waiters = queue_.TakeCommitted();
    if (bug_ == QueueBug::kForgetsWhatFollowsALateCommit) {
      std::erase_if(waiters, [](const CommitQueue::Waiter& waiter) { return !waiter.done; });
    }
    if (bug_ == QueueBug::kCompletesWhatCameAfterTheCommitBegan) {
      std::ranges::move(queue_.TakeWaiters(), std::back_inserter(waiters));
    }
    if (bug_ == QueueBug::kLeavesTheLastWaiterToTheNextCommit && !waiters.empty()) {
      queue_.Add(std::move(waiters.back()));
      waiters.pop_back();
    }
    return waiters;
  }
  CommitQueue::Job StartRequest() {
    CommitQueue::Job job = queue_.StartRequest();
    is_running_ = static_cast<bool>(job);
    if (job || dropped_.empty()) return job;
    job = std::move(dropped_.back());
    dropped_.pop_back();
    return job;
  }
  Done<void> FinishRequest() {
    if (!is_running_) return nullptr;  // the job that ran was a dropped one
    is_running_ = false;
    Done<void> done = queue_.FinishRequest();
    if (done || bug_ != QueueBug::kCompletesTheExpiredAgain) return done;
    return [shared = result_](Status status) { (*shared)(std::move(status)); };
  }
  std::vector<CommitQueue::Request> TakeNewRequests() { return queue_.TakeNewRequests(); }
  std::vector<CommitQueue::Waiter> TakeLateWaiters() {
    auto late = queue_.TakeLateWaiters();
    if (bug_ == QueueBug::kForgetsLateWaitersOnClosing) late.clear();
    return late;
  }
  std::vector<CommitQueue::Waiter> TakeWaiters() { return queue_.TakeWaiters(); }
  std::vector<CommitQueue::Expired> TakeExpired(Instant now) {
    const nanoseconds early(bug_ == QueueBug::kExpiresEarly ? 1 : 0);
    auto expired = queue_.TakeExpired(now + early);
    if (bug_ == QueueBug::kLosesWhatExpiresWhileItRuns && is_running_) expired.clear();
    if (bug_ == QueueBug::kRunsWhatWasNotBegun) {
      for (CommitQueue::Expired& call : expired) {
        if (call.dropped) dropped_.push_back(std::move(call.dropped));
      }
    }
    return expired;
  }
  Deadline NextDeadline() const {
    const bool hides = bug_ == QueueBug::kHidesTheDeadlineOfTheRunning && is_running_;
    return hides ? Deadline::Never() : queue_.NextDeadline();
  }

 private:
  CommitQueue queue_;
  const QueueBug bug_;
  bool is_running_ = false;
  std::vector<CommitQueue::Job> dropped_;
  std::shared_ptr<Done<void>> result_;  // callback of the last job that ran
};

}  // namespace weir
