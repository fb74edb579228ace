// Puts records into Kinesis streams: filled requests, every shard up to its limit, and a result for
// every record. Mechanism: docs/design/kinesis.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/base/done.h"
#include "weir/base/result.h"
#include "weir/kinesis/pipeline.h"
#include "weir/kinesis/producer_config.h"
#include "weir/kinesis/producer_metrics.h"
#include "weir/kinesis/shared_budget.h"
#include "weir/kinesis/wire.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/executor.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir::kinesis {

struct Record {
  std::string partition_key;  ///< UTF-8, 1 to 256 characters
  std::string data;           ///< may be empty
  /// Decimal, 0 to 2^128 - 1: where it goes instead of where its partition key's hash says.
  std::optional<std::string> explicit_hash_key;
  /// How long it may wait for company, at most half of its ttl, and how long it is tried; nothing:
  /// as the producer's configuration says.
  std::optional<milliseconds> buffered_time;
  std::optional<milliseconds> ttl;
};

using PutDone = std::move_only_function<void(RecordResult)>;

/// Since the producer was made, of all streams.
struct ProducerStats {
  std::uint64_t records = 0;          ///< put, or under way
  std::uint64_t bytes = 0;            ///< of their data
  std::uint64_t stored = 0;           ///< with a result that says so
  std::uint64_t failed = 0;           ///< with another result
  std::uint64_t maybe_duplicate = 0;  ///< results that say so
  std::uint64_t kinesis_records = 0;  ///< sent, again too
  std::uint64_t requests = 0;         ///< PutRecords, again too
  std::uint64_t throttled = 0;        ///< Kinesis records refused for a shard's rate
  std::uint64_t retries = 0;          ///< of user records
};

/// What is used and not owned: all must outlive the producer. No call on `client` may try again by
/// itself what was throttled or may have been applied: the producer does, and knows more.
struct ProducerParts {
  JsonClient& client;
  Scheduler& scheduler;            ///< where all of its work runs
  SharedBudget* budget = nullptr;  ///< of producers that share the shards; null: it has them alone
  Log& log = NoLog();              ///< what goes wrong: docs/design/log.md
  /// Runs the `done` of each put, in a task of its own, so that it may block; null: `scheduler`
  /// runs them, and they must not block. The record has its room until its task begins.
  Executor* callbacks = nullptr;
};

/// Thread-safe, except that it must not be destroyed while a call is under way, nor from a task of
/// the scheduler or of the callbacks' executor. Calls that wait are not for these tasks either.
/// They are refused within a `done` (kFailedPrecondition), where they might wait for it without
/// end.
class Producer {
 public:
  /// One of the producer's streams; lives as long as the producer.
  class Stream;

  /// REQUIRES: `config` as ParseProperties would accept it.
  Producer(const ProducerParts& parts, ProducerConfig config, std::uint64_t seed);
  /// As Close with a deadline that has passed; then waits until what is under way is answered,
  /// which takes no longer than the configuration's time-outs, and each `done` has run. Waits for
  /// nothing where a Close has answered and nothing is under way.
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// The same stream for the same address. Asks nobody: a stream that does not exist fails its
  /// records. kInvalidArgument: not exactly one of name and ARN, or no such thing.
  [[nodiscard]] Result<Stream*> Open(const StreamAddress& address);

  /// Takes a record. Where it is taken, `done` runs exactly once (ProducerParts::callbacks); else
  /// never. Waits for room up to the configuration's put_timeout.
  ///
  /// kInvalidArgument: the record can never be put. kResourceExhausted: no room came. kCancelled:
  /// the producer is closed. kFailedPrecondition: it would wait for room within a `done`.
  [[nodiscard]] Status Put(Stream& stream, Record record, PutDone done);
  /// The same, and never waits.
  [[nodiscard]] Status TryPut(Stream& stream, Record record, PutDone done);
  /// Waits for the result, which comes by a second after its TTL. Within a `done` that the
  /// callbacks' executor runs it is allowed, if there is room at once.
  [[nodiscard]] Result<RecordResult> PutBlocking(Stream& stream, Record record);
  /// As many Puts. Says how many it took, the first ones; `done` runs once for each of them, with
  /// its place, perhaps for several at once (ProducerParts::callbacks). The error of the first that
  /// was not taken, if that is the first of all.
  using BatchDone = std::function<void(std::size_t place, RecordResult)>;
  [[nodiscard]] Result<std::size_t> PutBatch(Stream& stream, std::vector<Record> records,
                                             const BatchDone& done);

  /// Nothing that was put before, into this stream or into any, waits for company. Answers when the
  /// `done` of each has run, or kDeadlineExceeded. The shards' rates are respected. kCancelled: the
  /// producer is closed. This `done` runs on the scheduler, or before Flush returns, and must not
  /// block.
  void Flush(Stream& stream, Deadline deadline, Done<void> done);
  void Flush(Deadline deadline, Done<void> done);
  /// The same, and waits.
  [[nodiscard]] Status Flush(Stream& stream, Deadline deadline);
  [[nodiscard]] Status Flush(Deadline deadline);
  /// Takes nothing more, flushes, and when `deadline` comes gives what is left a result that says
  /// so. Answers when the `done` of each record has run, on the scheduler.
  void Close(Deadline deadline, Done<void> done);
  /// The same, and waits. Succeeds, unless it is called within a `done`: then nothing is closed.
  Status Close(Deadline deadline);

  ProducerStats stats() const;
  /// Under the Kinesis Producer Library's names, and for Prometheus; lives as long as the producer.
  const ProducerMetrics& metrics() const;
  ProducerMetrics& metrics();
  /// Records without a result or whose `done` waits for its executor, and what they and those of
  /// requests in flight occupy as max_outstanding_bytes counts it.
  std::size_t pending() const;
  std::size_t pending_bytes() const;
  /// Since the oldest record was put whose `done` has not run, up to 10 ms too long. 0: there is
  /// none.
  nanoseconds oldest_age() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::kinesis
