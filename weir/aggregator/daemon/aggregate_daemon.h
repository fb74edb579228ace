// Counts the usage of a table as long as the daemon runs: reads the table's stream, together with
// other processes, and passes the records to aggregators. Mechanism: docs/design/aggregator.md.
//
//   LeaseRun: this fleet counts the table --> StreamRun: which shards, which records
//                                                |
//                                                v
//                                             ShardQueue (one for each shard) --> BatchRun
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "weir/aggregator/daemon/aggregate_stats.h"
#include "weir/aggregator/daemon/archive_store.h"
#include "weir/aggregator/lease/aggregator_lease.h"
#include "weir/aggregator/protocol/aggregator_batch.h"
#include "weir/aws/json_client.h"
#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/dynamodb/streams/lease_store.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// All of it must outlive the daemon and the call of `ended`.
struct DaemonParts {
  JsonClient& streams;  ///< of DynamoDB Streams
  Table& table;
  LeaseStore& shard_leases;
  Scheduler& scheduler;
  /// Receives the events of the aggregator and its lease, and "aggregator.record_skipped" (error:
  /// stream_shard, sequence, records, message, suppressed), "aggregator.requests_failing" (warning:
  /// stream_shard, message), "aggregator.lease_damaged" (error: stream_shard, message).
  Log& log;
  ArchiveStore* archive = nullptr;  ///< null: expired audit events are not archived
};

struct DaemonOptions {
  AggregatorOptions aggregator;
  LeaseOptions lease;        ///< processes that share the stream have the same owner
  ConsumerOptions consumer;  ///< its owner is unique to this process
};

/// Thread-safe. It may be destroyed once `ended` was called.
class AggregateDaemon {
 public:
  /// Begins. `ended` is called once, on the scheduler's thread, when no request is in flight: after
  /// Drain, or with the error that ended the reading. kFailedPrecondition: another aggregator holds
  /// the lease, and LeaseOptions::takes_over is false. kAborted: another aggregator has taken over
  /// the lease. `seed` determines random pauses.
  AggregateDaemon(const DaemonParts& parts, DaemonOptions options, std::uint64_t seed,
                  std::function<void(const Status&)> ended);
  ~AggregateDaemon();
  AggregateDaemon(const AggregateDaemon&) = delete;
  AggregateDaemon& operator=(const AggregateDaemon&) = delete;

  /// Takes no further batches, completes those in flight, stores the positions and releases the
  /// leases. A batch that fails meanwhile is not retried: the shard's next reader processes it.
  /// `ended` gets kUnavailable if positions could not be stored (ConsumerStep::error).
  void Drain();
  /// Ends when no request is in flight. Positions are not stored, so records are read again;
  /// `ended` gets kCancelled.
  void Stop();
  AggregateStats stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::dynamo
