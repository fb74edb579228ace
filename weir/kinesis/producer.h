// Puts records into Kinesis streams: fills requests, uses every shard up to its limit, and returns
// a result for every record. Mechanism: docs/design/kinesis.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/base/result.h"
#include "weir/kinesis/metrics/producer_metrics.h"
#include "weir/kinesis/pipeline/record_results.h"
#include "weir/kinesis/pipeline/shared_budget.h"
#include "weir/kinesis/producer_config.h"
#include "weir/kinesis/wire/wire.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/executor.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir::kinesis {

struct Record {
  std::string partition_key;  ///< UTF-8, 1 to 256 characters
  std::string data;           ///< may be empty
  /// Decimal, 0 to 2^128 - 1. Decides the shard instead of the partition key's hash.
  std::optional<std::string> explicit_hash_key;
  /// How long the record may wait for batching, and at most half of `ttl`. Nothing: as the
  /// producer's configuration says.
  std::optional<milliseconds> buffered_time;
  /// The record expires this time after it was put, and is not sent any more; > 0. Nothing: as the
  /// producer's configuration says.
  std::optional<milliseconds> ttl;
};

using PutDone = std::move_only_function<void(RecordResult)>;

/// Counts since the producer was created, of all streams.
struct ProducerStats {
  std::uint64_t records = 0;          ///< accepted by a put
  std::uint64_t bytes = 0;            ///< the size of the data of these records
  std::uint64_t stored = 0;           ///< records whose result says that they are stored
  std::uint64_t failed = 0;           ///< records with another result
  std::uint64_t maybe_duplicate = 0;  ///< results with maybe_duplicate
  std::uint64_t kinesis_records = 0;  ///< sent; each retry counts
  std::uint64_t requests = 0;         ///< PutRecords; each retry counts
  std::uint64_t throttled = 0;        ///< Kinesis records refused for a shard's rate
  std::uint64_t retries = 0;          ///< the retries of user records
};

/// Objects that the producer uses and does not own: all must outlive it. No call on `client` may
/// itself retry a request that was throttled or may have been applied: the producer does this.
struct WEIR_API ProducerParts {
  JsonClient& client;
  Scheduler& scheduler;  ///< runs all work of the producer
  /// The budget of producers on several hosts that share the shards; null: no other producer uses
  /// the shards.
  SharedBudget* budget = nullptr;
  Log& log = NoLog();  ///< events of failures: docs/design/log.md
  /// Runs the `done` of each put, in a task of its own, so that `done` may block. Null: `scheduler`
  /// runs each `done`, which must not block. A record occupies its space until its task begins.
  Executor* callbacks = nullptr;
};

/// Thread-safe, except that it must not be destroyed while a call is running, nor from a task of
/// the scheduler or of the callbacks' executor. Calls that wait must not be made from such tasks
/// either; within a `done` they return kFailedPrecondition, since they might wait for that `done`
/// without end.
class WEIR_API Producer {
 public:
  /// One of the producer's streams. Lives as long as the producer.
  class WEIR_INTERNAL Stream;

  /// REQUIRES: ParseProperties would accept the values of `config`.
  Producer(const ProducerParts& parts, ProducerConfig config, std::uint64_t seed);
  /// Closes with a deadline that has passed. Then blocks until all requests in flight have ended,
  /// which takes no longer than the configuration's timeouts, and each `done` has run. Returns at
  /// once if a Close has completed and nothing is in flight.
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Returns the stream of this address; the same pointer for the same address. Sends no request:
  /// records of a stream that does not exist fail. kInvalidArgument: not exactly one of name and
  /// ARN is set. kCancelled: the producer is closed.
  [[nodiscard]] Result<Stream*> Open(const StreamAddress& address);

  /// Puts a record. If it succeeds, `done` runs exactly once (ProducerParts::callbacks); otherwise
  /// never. Blocks until there is space, up to the configuration's put_timeout.
  ///
  /// kInvalidArgument: the record can never be put. kResourceExhausted: there was no space in time.
  /// kCancelled: the producer is closed. kFailedPrecondition: the call would wait for space within
  /// a `done`.
  [[nodiscard]] Status Put(Stream& stream, Record record, PutDone done);
  /// The same, but never waits.
  [[nodiscard]] Status TryPut(Stream& stream, Record record, PutDone done);
  /// Puts a record and blocks until its result, which comes at most one second after the record
  /// expires. Within a `done` that the callbacks' executor runs, this is allowed if there is space
  /// at once.
  [[nodiscard]] Result<RecordResult> PutBlocking(Stream& stream, Record record);
  /// Puts the records one after the other. Returns how many records were accepted; these are the
  /// first ones. `done` runs once for each accepted record, with its index, perhaps for several at
  /// the same time (ProducerParts::callbacks). Returns an error only if the first record is not
  /// accepted.
  using BatchDone = std::function<void(std::size_t index, RecordResult)>;
  [[nodiscard]] Result<std::size_t> PutBatch(Stream& stream, std::vector<Record> records,
                                             const BatchDone& done);

  /// Sends the records that were put before, into this stream or into all, without waiting for
  /// batching; the rates of the shards still apply. Completes when the `done` of each of these
  /// records has run, or with kDeadlineExceeded. kCancelled: the producer is closed. `done` of
  /// Flush runs on the scheduler, or before Flush returns, and must not block.
  void Flush(Stream& stream, Deadline deadline, Done<void> done);
  void Flush(Deadline deadline, Done<void> done);
  /// The same, but blocks.
  [[nodiscard]] Status Flush(Stream& stream, Deadline deadline);
  [[nodiscard]] Status Flush(Deadline deadline);
  /// Accepts no more records, flushes, and at `deadline` gives each record that has no result yet a
  /// result with the code kClosed (attempts.h). Completes, on the scheduler, when the `done` of
  /// each record has run.
  void Close(Deadline deadline, Done<void> done);
  /// The same, but blocks. Always succeeds, except within a `done`: then nothing is closed
  /// (kFailedPrecondition).
  Status Close(Deadline deadline);

  ProducerStats stats() const;
  /// Returns the metrics under the Kinesis Producer Library's names, and for Prometheus. They live
  /// as long as the producer.
  const ProducerMetrics& metrics() const;
  ProducerMetrics& metrics();
  /// pending returns the number of records that have no result or whose `done` waits for its
  /// executor. pending_bytes returns the bytes that these and the records of requests in flight
  /// occupy, counted as for max_outstanding_bytes.
  std::size_t pending() const;
  std::size_t pending_bytes() const;
  /// Returns the time since the oldest record was put whose `done` has not run; up to 10 ms too
  /// long. 0: there is no such record.
  nanoseconds oldest_age() const;

 private:
  struct WEIR_INTERNAL State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::kinesis
