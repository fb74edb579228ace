#include "weir/embedded/commit/commit_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {
namespace {

// Takes the callbacks of expired waiters. The waiters stay for their commit.
void TakeExpiredWaiters(std::vector<CommitQueue::Waiter>& from, Instant now,
                        std::vector<CommitQueue::Expired>& expired) {
  for (CommitQueue::Waiter& waiter : from) {
    if (!waiter.done || !waiter.deadline.ExpiredAt(now)) continue;
    expired.push_back(
        {std::exchange(waiter.done, nullptr), CommitQueue::State::kInFlight, nullptr});
  }
}

// Takes expired requests out of `from`, with their jobs.
template <class Requests>
void TakeExpiredRequests(Requests& from, Instant now, std::vector<CommitQueue::Expired>& expired) {
  const auto is_expired = [&](CommitQueue::Request& request) {
    if (!request.deadline.ExpiredAt(now)) return false;
    expired.push_back(
        {std::move(request.done), CommitQueue::State::kNotBegun, std::move(request.job)});
    return true;
  };
  std::erase_if(from, is_expired);
}

template <class Calls>
Deadline Earliest(const Calls& calls, Deadline earliest) {
  for (const auto& call : calls) {
    if (call.done) earliest = std::min(earliest, call.deadline);
  }
  return earliest;
}

}  // namespace

std::size_t CommitQueue::size() const {
  return waiters_.size() + committing_.size() + requests_.size() + in_flight_requests_.size() +
         (running_ ? 1 : 0);
}

void CommitQueue::BeginCommit() {
  std::ranges::move(waiters_, std::back_inserter(committing_));
  waiters_.clear();
  std::ranges::move(requests_, std::back_inserter(in_flight_requests_));
  requests_.clear();
}

CommitQueue::Job CommitQueue::StartRequest() {
  if (in_flight_requests_.empty()) return nullptr;
  running_.emplace(std::move(in_flight_requests_.front()));
  in_flight_requests_.pop_front();
  // The callback stays in running_, so that TakeExpired can take it while the job runs.
  return std::exchange(running_->job, nullptr);
}

Done<void> CommitQueue::FinishRequest() {
  Done<void> done = std::move(running_->done);
  running_.reset();
  return done;
}

std::vector<CommitQueue::Waiter> CommitQueue::TakeWaiters() {
  std::vector<Waiter> waiters = std::exchange(committing_, {});
  std::ranges::move(waiters_, std::back_inserter(waiters));
  waiters_.clear();
  return waiters;
}

std::vector<CommitQueue::Waiter> CommitQueue::TakeLateWaiters() {
  std::vector<Waiter> late = TakeWaiters();
  // Completed waiters have an empty `done`. The others go back to the queue.
  const auto pending =
      std::ranges::partition(late, [](const Waiter& waiter) { return !waiter.done; });
  std::ranges::move(pending, std::back_inserter(waiters_));
  late.erase(pending.begin(), pending.end());
  return late;
}

std::vector<CommitQueue::Expired> CommitQueue::TakeExpired(Instant now) {
  std::vector<Expired> expired;
  TakeExpiredWaiters(committing_, now, expired);
  TakeExpiredWaiters(waiters_, now, expired);
  // The job of the running request cannot be stopped; only its callback is taken.
  if (running_ && running_->done && running_->deadline.ExpiredAt(now)) {
    expired.push_back({std::exchange(running_->done, nullptr), State::kInFlight, nullptr});
  }
  TakeExpiredRequests(in_flight_requests_, now, expired);
  TakeExpiredRequests(requests_, now, expired);
  return expired;
}

Deadline CommitQueue::NextDeadline() const {
  Deadline earliest = Earliest(waiters_, Deadline::Never());
  earliest = Earliest(committing_, earliest);
  earliest = Earliest(requests_, earliest);
  earliest = Earliest(in_flight_requests_, earliest);
  if (running_ && running_->done) earliest = std::min(earliest, running_->deadline);
  return earliest;
}

}  // namespace weir
