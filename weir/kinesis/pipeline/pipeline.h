// The producer of one stream without I/O: puts and responses go in; requests, results and the next
// wake-up come out. Mechanism: docs/design/kinesis.md.
//
// The way of a user record. Names that end in an underscore are the members that store it:
//
//   Put --> framer_  (until the first listing has ended: unmapped)
//             |  ^
//             |  +---------- outcomes_ <-----------------+ to be retried
//             v                                          |
//           lanes_  (the rates of the shards)            |
//             |                                          |
//             v                                          |
//           budget_  (with a shared budget)              |
//             |                                          |
//             v                                          |
//           requests_  (collected, pending) --> in flight, until OnResponse
//                                                        |
//                                                        v has its result
//                                                    outcomes_
//
// A record that expires in one of these stages gets its result there; user records of the same
// Kinesis record that have not expired go back to framer_. Exceptions: a record whose budget
// request is pending (BudgetGate) or that is being collected (Collector) does not expire. In
// ordered mode a Kinesis record keeps its positions in framer_ until it has its results, or its
// user records are framed again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weir/kinesis/pipeline/pipeline_step.h"
#include "weir/kinesis/pipeline/put_response.h"
#include "weir/kinesis/pipeline/record_framer.h"
#include "weir/kinesis/pipeline/record_outcomes.h"
#include "weir/kinesis/pipeline/request_queue.h"
#include "weir/kinesis/shards/shard_lanes.h"

namespace weir::kinesis {

/// A state machine without I/O; not thread-safe. Each record that was put gets exactly one result.
/// A record in flight gets its result at most kLastWait after it expires. Any other record gets its
/// result when it expires, with two exceptions: if a budget request for the record is pending then,
/// the decision on that request comes first, and a record that is being collected then is still
/// sent.
class Pipeline {
 public:
  /// `seed` should differ between pipelines: random waits depend on it.
  Pipeline(const PipelineOptions& options, std::uint64_t seed);

  /// Adds a record. REQUIRES: its number, hash, deadline and expiry are set.
  PipelineStep Put(UserRecord record, Instant now);
  /// Adds several records, in this order.
  PipelineStep PutAll(std::vector<UserRecord> records, Instant now);
  /// Handles the response to a request. A response to an id that is not in flight is ignored.
  PipelineStep OnResponse(std::uint64_t id, PutResponse response, Instant now);
  /// Handles the response to ListShards, for one page.
  PipelineStep OnListed(Result<ShardPage> page, Instant now);
  /// Handles the decision on a budget request. A caller whose request failed passes a granted
  /// decision.
  PipelineStep OnBudget(ShardId shard, const BudgetDecision& decision, Instant now);
  /// Performs the work that is due at `now`.
  PipelineStep OnWake(Instant now) { return Advance(now); }
  /// Sends the records of the pipeline without waiting for batching; they still wait for the rates
  /// of their shards. This lasts until no record is pending, or until EndFlush.
  PipelineStep Flush(Instant now);
  /// From now on records wait for batching again, even if records of the Flush are pending.
  void EndFlush() { is_flushing_ = false; }
  /// Gives each record its result now; the results of records in flight say that they may have been
  /// stored. Responses that come later are ignored.
  PipelineStep Close(Instant now);

  /// Returns the size in bytes of the request that TakeSend would return; nothing if none may be
  /// sent now.
  std::optional<std::size_t> NextSend(Instant now) const;
  /// Returns the next request and counts it as in flight; nothing if none may be sent now.
  std::optional<PipelineStep::Send> TakeSend(Instant now);

  /// Returns the request in flight with this id; null if there is none. Valid until OnResponse for
  /// this id, or Close.
  const RequestWindow::Flight* FindInFlight(std::uint64_t id) const { return requests_.Find(id); }
  /// See ShardMap::ranges: immutable, and may be shared with other threads.
  const std::shared_ptr<const ShardRanges>& shards() const { return map_.ranges(); }
  /// Returns the number of user records without a result.
  std::size_t pending() const { return outcomes_.results().pending(); }
  PipelineCounts counts() const;

 private:
  /// Performs all work that is due and returns the step. The handler of every event ends with this
  /// call.
  PipelineStep Advance(Instant now);
  /// Adds a record that was put, without the work that follows.
  void AddRecord(UserRecord record, Instant now);
  /// Frames the records whose retry is due.
  void FrameDueRetries(Instant now);
  /// Moves the records of framer_.TakePassed() through the limiters, and drains the lanes that are
  /// due.
  void PassLimiters(Instant now);
  /// Moves the records that left a lane to the shared budget or to the requests.
  void OnDrained(ShardLimiter::Drained drained, Instant now);
  /// Appends the requests that may be sent now.
  void TakeSends(Instant now, std::vector<PipelineStep::Send>& sends);
  std::optional<Instant> NextWake(Instant now) const;

  /// Handles the response for one Kinesis record.
  /// `failures`: the attempts of earlier entries of this response that failed.
  void OnEntry(KinesisRecord record, EntryResponse response, Attempt attempt,
               std::vector<Attempts::Shared>& failures);
  /// Handles the failure of a whole request.
  void OnRequestFailed(RequestWindow::Flight flight, const AwsFailure& failure, Instant now);
  void OnThrottled(const KinesisRecord& record, Instant now);
  /// Applies a new listing: reroutes records whose shard is not known or not open any more, removes
  /// limiters of shards that are not known any more, and decides about the parked records again.
  void ApplyShardList(Instant now);
  /// Frames again the records that wait without a shard, or for a shard that is not open any more.
  void ReframeUnplaced(Instant now);
  /// Returns whether the shard that holds the record's first key now differs from the shard that
  /// the record was framed for. Either may be unknown.
  bool IsMisplaced(const KinesisRecord& record) const;
  /// Ends the tickets of the Kinesis records whose user records all have their results.
  void EndTickets();

  /// Expires the records that wait in one of the stages.
  void ExpireWaiting(Instant now);
  /// Adds the results of records in flight whose request has no response kLastWait after their
  /// expiry. The producer still waits for the response if the request has younger records.
  void ReportOverdue(Instant now);
  /// Ends a Kinesis record that expired or is rerouted: its expired user records fail, the others
  /// are framed again.
  void ReframeRecord(KinesisRecord record, Instant now);
  /// Ends the ticket of these user records: those that have expired fail, the others are framed
  /// again.
  void ReframeUnexpired(RetryGroup group, Instant now);
  /// Takes all Kinesis records that wait to be sent.
  std::vector<KinesisRecord> TakeWaiting(Instant now);
  /// Fails the records in flight, which may still be stored.
  void EndInFlight(Instant now);

  PipelineOptions options_;
  Rng rng_;
  ShardMap map_;
  std::optional<Instant> map_wake_;
  RecordFramer framer_;
  ShardLanes lanes_;
  std::optional<BudgetGate> budget_;
  // Records whose budget was granted. They move to requests_ after ExpireWaiting: their budget is
  // spent, so they are sent even if they have expired meanwhile. Empty between events.
  std::vector<KinesisRecord> granted_;
  RequestQueue requests_;
  RecordOutcomes outcomes_;
  std::uint64_t throttled_ = 0;  // see PipelineCounts::throttled
  bool is_flushing_ = false;     // a Flush is pending: no record waits for batching
};

}  // namespace weir::kinesis
