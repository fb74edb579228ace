// What follows from results. Inside of the producer only.
#pragma once

#include <vector>

#include "weir/kinesis/pipeline/flushes.h"
#include "weir/kinesis/producer_stream.h"

namespace weir::kinesis {

/// A result, and the pending of its record: the callback that gets it.
struct Delivery {
  RecordResult result;
  PendingRecord pending;
};

/// The effects of the results of one step.
struct StepEffects {
  /// Deliver on the scheduler; their space is already free.
  std::vector<Delivery> on_scheduler{};
  /// Deliver in tasks of ProducerParts::callbacks; their space is freed when the task begins.
  std::vector<Delivery> on_executor{};
  std::vector<Waiter> served{};  ///< callers whose records have space now
};

/// The effects of callbacks that have run, on callers of Flush.
struct FlushedCallers {
  std::vector<Flusher> flushed{};  ///< they have nothing to wait for any more
  bool ended_wait = false;         ///< a caller does not wait for this stream any more
};

}  // namespace weir::kinesis
