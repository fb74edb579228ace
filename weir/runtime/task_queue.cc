#include "weir/runtime/task_queue.h"

#include <algorithm>

namespace weir {

SteadyTime WakeTime(const Clock& clock, Instant when) {
  // Bounds a sleep, so that an instant that is never reached does not overflow the arithmetic.
  constexpr nanoseconds kLongestSleep = std::chrono::hours(24 * 365);
  const Instant now = clock.Now();
  const nanoseconds left = when > now ? std::min(when - now, kLongestSleep) : nanoseconds(0);
  return std::chrono::steady_clock::now() + left;
}

void TaskQueue::Post(Instant now, Task task) {
  posts_.emplace_back(Key(now, next_id_++), std::move(task));
}

TimerId TaskQueue::At(Instant when, Task task) {
  const std::uint64_t id = next_id_++;
  timers_.emplace(Key(when, id), std::move(task));
  instants_.emplace(id, when);
  return TimerId{id};
}

std::optional<Task> TaskQueue::Cancel(TimerId id) {
  const auto found = instants_.find(std::to_underlying(id));
  if (found == instants_.end()) return std::nullopt;
  const auto timer = timers_.find(Key(found->second, found->first));
  std::optional<Task> cancelled = std::move(timer->second);
  timers_.erase(timer);
  instants_.erase(found);
  return cancelled;
}

std::optional<Task> TaskQueue::TakeDue(const Clock& clock) {
  const bool is_timer_first =
      !timers_.empty() && (posts_.empty() || timers_.begin()->first < posts_.front().first);
  if (!is_timer_first) return TakePost();
  // A timer that precedes a post is due: the post's instant is in the past.
  const bool is_due = !posts_.empty() || timers_.begin()->first.first <= clock.Now();
  return is_due ? TakeTimer() : std::nullopt;
}

Instant TaskQueue::first_due() const {
  Instant first{INT64_MAX};
  if (!posts_.empty()) first = posts_.front().first.first;
  if (!timers_.empty()) first = std::min(first, timers_.begin()->first.first);
  return first;
}

std::optional<Task> TaskQueue::TakePost() {
  if (posts_.empty()) return std::nullopt;
  std::optional<Task> task = std::move(posts_.front().second);
  posts_.pop_front();
  return task;
}

std::optional<Task> TaskQueue::TakeTimer() {
  const auto first = timers_.begin();
  std::optional<Task> task = std::move(first->second);
  instants_.erase(first->first.second);
  timers_.erase(first);
  return task;
}

}  // namespace weir
