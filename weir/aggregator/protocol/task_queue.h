// The requests of a batch: pending, paused and in flight.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "weir/base/time.h"

namespace weir::dynamo {

/// Identifies a request in one Aggregator. Never used twice.
using RequestId = std::uint64_t;

/// One step of a batch's work. It may take several requests, one after the other.
struct BatchTask {
  enum class Kind : std::uint8_t { kUsage, kArchive, kRefill, kGap };
  Kind kind = Kind::kUsage;
  std::size_t index = 0;  ///< of the usage group, event or refill
  int tries = 0;          ///< requests that were sent
};

/// A value; not thread-safe. It holds at most the tasks of one batch.
class TaskQueue {
 public:
  explicit TaskQueue(std::size_t max_in_flight) : max_in_flight_(max_in_flight) {}

  void Add(BatchTask task) { ready_.push_back(task); }
  /// Returns the next task if one is ready and a further request may be sent.
  std::optional<BatchTask> Next(Instant now);
  /// Notes that a request of the task was sent, and returns the request's identifier.
  RequestId Sent(BatchTask task);
  /// Ends a request in flight, and returns its task. Returns nothing for an unknown request, whose
  /// batch ended before its response.
  std::optional<BatchTask> Finish(RequestId request);
  void Pause(BatchTask task, Instant until) { paused_.push_back({until, task}); }
  /// Drops all tasks.
  void Clear();

  bool is_idle() const { return ready_.empty() && paused_.empty() && in_flight_.empty(); }
  /// Returns the earliest end of a pause; the end of time if no task is paused, or if the maximum
  /// of requests is in flight.
  Instant wake() const;

 private:
  struct Paused {
    Instant until;
    BatchTask task;
  };

  const std::size_t max_in_flight_;
  RequestId last_ = 0;
  std::deque<BatchTask> ready_;
  std::vector<Paused> paused_;
  absl::flat_hash_map<RequestId, BatchTask> in_flight_;
};

}  // namespace weir::dynamo
