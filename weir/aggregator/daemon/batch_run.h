// Drives an Aggregator: sends the requests of one batch after the other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "weir/aggregator/aggregator.h"
#include "weir/aggregator/daemon/archive_store.h"
#include "weir/aggregator/daemon/bucket_divider.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// All of it must outlive the runs and their requests.
struct BatchRunParts {
  Table& table;
  Scheduler& scheduler;
  ArchiveStore* archive;  ///< null only if AggregatorOptions::archives is false
  BucketDivider& divider;
};

/// Processes the batches of one shard of the stream, one after the other. Used on the scheduler's
/// thread only.
class BatchRun : public std::enable_shared_from_this<BatchRun> {
 public:
  using Ended = std::function<void(const BatchResult&)>;

  /// `seed` determines the random pauses.
  BatchRun(const BatchRunParts& parts, const AggregatorTerms& terms, std::uint64_t seed);

  /// Begins a batch, or stores a gap. `ended` is called once, by the deadline; the records must
  /// live until then. REQUIRES: no batch is in progress.
  void Start(const RecordBatch& batch, Ended ended);
  void StartGap(const UsageGap& gap, Deadline deadline, Ended ended);
  /// Ends a batch in progress without a result, and calls `idle` when no request is in flight. Only
  /// Stop may be called afterwards: its `idle` replaces one that was not called yet.
  void Stop(std::function<void()> idle);

 private:
  void CarryOut(AggregatorStep step);
  void Send(AggregatorRequest request);
  void SetTimer();
  void ReportIdle();
  /// Returns a Done that passes its result to `handle` in a task of the scheduler.
  template <class T, class Handle>
  auto OnScheduler(Handle handle);
  ProtocolTime Now() const {
    return {.at = parts_.scheduler.clock().Now(), .bucket_time = parts_.table.Now()};
  }

  const BatchRunParts parts_;
  Aggregator aggregator_;
  Ended ended_;
  bool is_stopped_ = false;
  std::function<void()> idle_;  ///< called once
  int in_flight_ = 0;
  std::optional<TimerId> timer_;
};

}  // namespace weir::dynamo
