// Counts the usage in the change records of a table's stream: a protocol without I/O.
// Mechanism and proof: docs/design/aggregator.md.
//
//   Start --> usage updates, archive objects, refills --> done: the checkpoint, or the first record
//             (bounded in flight, retried)             |        that is not applied
//                                                      |
//             deadline, lost lease --------------------+
#pragma once

#include <cstdint>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "weir/aggregator/lease/aggregator_lease.h"
#include "weir/aggregator/protocol/aggregator_batch.h"
#include "weir/aggregator/protocol/batch_plan.h"
#include "weir/aggregator/usage/usage_write.h"
#include "weir/base/rng.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"
#include "weir/zae_table/bucket/take_judge.h"
#include "weir/zae_table/records/usage_gap.h"

namespace weir::dynamo {

/// What the aggregators of a process share. All of it must outlive them.
struct AggregatorTerms {
  const AggregatorOptions& options;
  const AggregatorLease& lease;
  /// Receives "aggregator.batch_failed" (error: stream_shard, sequence, message),
  /// "aggregator.refused" (warning: entity, resource, message, suppressed; at most one in 10 s) and
  /// "aggregator.gap" (error: stream_shard, from, until).
  Log& log;
};

/// Processes the batches of one shard of the stream, one after the other. Not thread-safe.
///
/// The caller makes each request of a step, reports its result to OnWrite or OnArchived, and calls
/// OnTime at wake(). Each of these may complete the batch. Records may be delivered any number of
/// times and in any batches. The records of one item must come in their order, though: a batch
/// begins no later than with the record after the last checkpoint, and a shard that was split off
/// is read only after all of its ancestors, even those without records, were processed to their
/// ends.
class Aggregator {
 public:
  /// `seed` determines the random pauses.
  Aggregator(const AggregatorTerms& terms, std::uint64_t seed);

  /// REQUIRES: no batch is in progress.
  AggregatorStep Start(const RecordBatch& batch, const ProtocolTime& moment);
  /// Stores a gap instead of processing a batch. The caller must not start a batch of later records
  /// before the gap is stored.
  AggregatorStep StartGap(const UsageGap& gap, Deadline deadline, const ProtocolTime& moment);

  AggregatorStep OnWrite(RequestId request, tl::expected<WriteResponse, WriteFailure> outcome,
                         const ProtocolTime& moment);
  AggregatorStep OnArchived(RequestId request, Status outcome, const ProtocolTime& moment);
  AggregatorStep OnTime(const ProtocolTime& moment);
  /// Returns the time at which to call OnTime; the end of time if no batch is in progress.
  Instant wake() const;

 private:
  using Kind = BatchTask::Kind;
  /// The progress of one usage group.
  struct UsageProgress {
    UsageTerms terms;
    bool settled = false;  ///< counted, or failed
    bool is_part = false;  ///< the update in flight does not count all changes
  };

  void Begin(const RecordBatch& batch);
  void PlanUpkeeps(const ProtocolTime& moment, AggregatorStep& step);
  void NoteRefusal(const RefusedShard& refused, Instant now);

  // Sends the requests that may be sent; ends the batch if no task remains.
  AggregatorStep Continue(AggregatorStep step, const ProtocolTime& moment);
  // Sends the task's next request, or settles the task.
  void Run(const BatchTask& task, AggregatorStep& step);
  void RunUsage(const BatchTask& task, AggregatorStep& step);
  void RunArchive(const BatchTask& task, AggregatorStep& step);
  void Send(const BatchTask& task, std::variant<Write, ArchiveObject> body, AggregatorStep& step);

  /// Continues with the next part of a usage update that is one; ends any other task.
  void OnWriteApplied(const BatchTask& task, std::optional<Item> item);
  void OnApplied(const BatchTask& task);
  /// The service refuses the request for good. Returns true if it may accept an update of the same
  /// usage that makes space in the item; this is then the task's next request.
  bool MakeFull(const BatchTask& task);
  void Settle(const BatchTask& task);
  void OnConditional(const BatchTask& task, std::optional<Item> item, Instant now);
  // Retries the task after a pause, unless it is a refill, the failure is final or the task's tries
  // are used up.
  void OnFailure(const BatchTask& task, Error error, bool is_final, Instant now);
  // Notes that the records from `record` on are not applied.
  void FailFrom(std::size_t record, Error error);
  void FailUnsettled(const Error& error);
  std::size_t FirstRecordOf(const BatchTask& task) const;
  BatchResult End();

  const AggregatorTerms terms_;
  Rng rng_;
  RepeatedEvent refusals_;

  // Of the batch in progress.
  bool busy_ = false;
  RecordBatch batch_{.stream_shard = {}, .records = {}, .deadline = Deadline::Never()};
  BatchPlan plan_;
  std::vector<UsageProgress> usage_;
  std::vector<bool> archived_;  ///< by expired event: archived, or failed
  std::vector<Write> refills_;
  std::optional<UsageGap> gap_;
  std::size_t applied_ = 0;  ///< an upper bound until the end: records before the first failed one
  std::optional<Error> error_;
  BatchCounts counts_;
  TaskQueue queue_;
};

}  // namespace weir::dynamo
