// The batches and gaps of one shard of the stream, which are processed in their order.
//
//   Add --> next batch or gap --> BatchRun --+--> all applied: completed
//                  ^   ^                     |
//                  |   +-- after a pause ----+--> not applied: the rest, again
//                  |                         |
//                  +---- a gap, the rest ----+--> a record that can never be applied
//
// The gap of a record that can never be applied covers the record's minute. A gap is not stored if
// the last stored gap covers it, so a client that writes only such records costs one item for each
// minute.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "weir/aggregator/daemon/aggregate_stats.h"
#include "weir/aggregator/daemon/batch_run.h"
#include "weir/aggregator/daemon/record_gap.h"
#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/runtime/backoff.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::dynamo {

/// Used on the scheduler's thread only. It holds the deliveries of the stream's consumer: a batch
/// and the gaps before it.
class ShardQueue : public std::enable_shared_from_this<ShardQueue> {
 public:
  struct Parts {
    Scheduler& scheduler;
    Log& log;
    AggregateStats& stats;
    const bool& is_draining;  ///< if true, a batch that fails is dropped
  };
  ShardQueue(const Parts& parts, std::shared_ptr<BatchRun> run, std::uint64_t seed);

  /// `completed` is called with true when the batch's gap is stored and each record is applied or
  /// in a stored gap, and with false if the batch fails while the daemon drains. After Stop it is
  /// not called.
  void AddBatch(ChangeBatch batch, std::function<void(bool)> completed);
  /// Drops all work, and calls `idle` when no request is in flight. Only Stop may be called
  /// afterwards: its `idle` replaces one that was not called yet.
  void Stop(std::function<void()> idle);
  /// Returns the creation time of the oldest record that is not applied, or the beginning of a gap
  /// that is not stored; nothing if there is none of these.
  std::optional<UnixMillis> oldest_waiting() const;
  bool is_idle() const { return !is_busy_ && work_.empty(); }

 private:
  struct Batch {
    ChangeBatch changes;
    std::function<void(bool)> completed;
    std::size_t applied = 0;
  };
  using Work = std::variant<UsageGap, Batch>;

  void RunNext();
  void OnEnded(const BatchResult& result);
  bool IsStored(const UsageGap& gap) const;
  /// Stores a gap for records that can never be applied, then continues with the next ones.
  void Skip(Batch& batch, const Error& error);
  /// Runs the same work again after a pause, or gives it up if the daemon drains.
  void RetryLater();
  /// Reports all batches as not applied, so that the shard's next reader processes them.
  void GiveUp();
  void NoteApplied(const ChangeBatch& batch);
  void ReportSkipped(const RecordGap& gap);
  void Count(const BatchResult& result);

  const Parts parts_;
  const std::shared_ptr<BatchRun> run_;
  Rng rng_;
  Backoff pauses_;
  std::deque<Work> work_;
  std::optional<UsageGap> stored_;  ///< the last gap that was stored
  RepeatedEvent repeated_;          ///< skipped records that the last stored gap covers
  bool is_busy_ = false;
  bool is_stopped_ = false;
};

}  // namespace weir::dynamo
