#include "weir/aggregator/protocol/task_queue.h"

#include <algorithm>

namespace weir::dynamo {

std::optional<BatchTask> TaskQueue::Next(Instant now) {
  if (in_flight_.size() >= max_in_flight_) return std::nullopt;
  const auto due = std::ranges::find_if(paused_, [&](const Paused& p) { return p.until <= now; });
  if (due != paused_.end()) {
    const BatchTask task = due->task;
    paused_.erase(due);
    return task;
  }
  if (ready_.empty()) return std::nullopt;
  const BatchTask task = ready_.front();
  ready_.pop_front();
  return task;
}

RequestId TaskQueue::Sent(BatchTask task) {
  ++task.tries;
  in_flight_.emplace(++last_, task);
  return last_;
}

std::optional<BatchTask> TaskQueue::Finish(RequestId request) {
  const auto found = in_flight_.find(request);
  if (found == in_flight_.end()) return std::nullopt;
  const BatchTask task = found->second;
  in_flight_.erase(found);
  return task;
}

void TaskQueue::Clear() {
  ready_.clear();
  paused_.clear();
  in_flight_.clear();
}

Instant TaskQueue::wake() const {
  Instant earliest{INT64_MAX};
  if (in_flight_.size() >= max_in_flight_) return earliest;
  for (const Paused& paused : paused_) earliest = std::min(earliest, paused.until);
  return earliest;
}

}  // namespace weir::dynamo
