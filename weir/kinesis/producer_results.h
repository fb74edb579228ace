// What follows from results. Inside of the producer only.
#pragma once

#include <vector>

#include "weir/kinesis/pipeline/flushes.h"
#include "weir/kinesis/producer_stream.h"

namespace weir::kinesis {

/// A result, and the PendingRecord of its record, which has the callback that gets the result.
struct Delivery {
  RecordResult result;
  PendingRecord pending;
};

/// The effects of the results of one step.
struct StepEffects {
  /// To be delivered on the scheduler; the space of these records is already free.
  std::vector<Delivery> on_scheduler{};
  /// To be delivered in tasks of ProducerParts::callbacks; the space of each record is freed when
  /// its task begins.
  std::vector<Delivery> on_executor{};
  std::vector<Waiter> served{};  ///< callers whose records have space now
};

/// The effects of callbacks that have run, on callers of Flush.
struct FlushedCallers {
  std::vector<Flusher> flushed{};  ///< they have nothing to wait for any more
  bool ended_wait = false;         ///< a caller does not wait for this stream any more
};

}  // namespace weir::kinesis
