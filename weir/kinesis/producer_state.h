// The state that the threads of a producer share. Inside of the producer only.
//
//   caller                   scheduler, one task at a time          other threads
//   ------                   -----------------------------          -------------
//   Put, TryPut: take
//   space, fill inbox --->   EmptyInbox: inbox into the pipeline
//                              |
//                              v                                    client, shared budget
//                            CarryOut: a step --------------------> SendRequest, SendListing,
//                              |    ^                             SendBudgetRequest
//                              |    |                                  |
//                              |    +--- OnResponse, OnListed, OnBudget -+
//                              v
//                            DeliverResults: ApplyResults, metrics  callbacks' executor
//                              |       |
//                              |       +-------------------------> DeliverOnExecutor
//                              v                                        |
//                            RunCallbacks                          CollectFlushedOnExecutor
//                              |                                        |
//                              v                                        |
//                            NotifyFlushed: callers of Flush <--------+
//
// The end: Close sets closed_ (no more puts) and flushes; at its deadline or after the flush CutOff
// sets cut_off_ (no more requests) and gives each record its result. When no call is in flight and
// no delivery is pending any more (end_), the destructor may return.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/kinesis/callback_scope.h"
#include "weir/kinesis/producer_end.h"
#include "weir/kinesis/producer_results.h"
#include "weir/kinesis/producer_stream.h"
#include "weir/kinesis/put_queue.h"
#include "weir/kinesis/send_ring.h"

namespace weir::kinesis {

/// Callers take space and put records into a stream's inbox, under the lock. All other work happens
/// in tasks of the scheduler, each of which keeps this object alive.
struct Producer::State : std::enable_shared_from_this<State> {
  State(const ProducerParts& producer_parts, ProducerConfig producer_config, std::uint64_t seed);

  // producer_callers.cc: called on any thread.
  Result<Stream*> Open(const StreamAddress& address) WEIR_EXCLUDES(mutex);
  /// Puts a record if there is space now.
  Status TryPut(Stream& stream, Incoming incoming) WEIR_EXCLUDES(mutex);
  /// Puts a record; blocks until there is space, as the configuration says.
  Status Put(Stream& stream, Incoming incoming) WEIR_EXCLUDES(mutex);
  /// Returns kFailedPrecondition if this thread runs a callback, since a call that blocks might
  /// wait for that callback.
  Status CheckMayBlock() const;
  /// Checks the same for a call that waits for a result only, and not for a callback.
  Status CheckMayAwaitResult() const;
  /// The implementation of Producer::Flush.
  void Flush(const std::vector<Stream*>& streams, Deadline deadline, Done<void> done)
      WEIR_EXCLUDES(mutex);
  /// Like Flush, but also possible if the producer is closed.
  void FlushEvenIfClosed(const std::vector<Stream*>& streams, Deadline deadline, Done<void> done)
      WEIR_EXCLUDES(mutex);
  /// The implementation of Producer::Close.
  void Close(Deadline deadline, Done<void> done) WEIR_EXCLUDES(mutex);
  /// `done` runs when no call is in flight and no delivery is pending, after Close. At most one
  /// caller, the destructor.
  void WhenEnded(Done<void> done) WEIR_EXCLUDES(mutex);
  /// Returns whether WhenEnded would run its `done` at once, or no stream was ever opened.
  bool HasEnded() const WEIR_EXCLUDES(mutex);
  std::vector<Stream*> Streams() const WEIR_EXCLUDES(mutex);
  ProducerStats Stats() const WEIR_EXCLUDES(mutex);
  nanoseconds OldestAge() const WEIR_EXCLUDES(mutex);
  Instant Now() const { return parts.scheduler.clock().Now(); }

  const ProducerParts parts;
  const ProducerConfig config;

  mutable Mutex mutex;
  BufferQuota buffer_quota WEIR_GUARDED_BY(mutex);
  ProducerStats stats WEIR_GUARDED_BY(mutex);
  ProducerMetrics metrics;

 private:
  using Key = std::pair<std::string, std::string>;

  /// Puts a record within a callback, which must not wait for space.
  Status PutAtOnce(Stream& stream, Incoming incoming) WEIR_EXCLUDES(mutex);
  /// Returns whether this thread runs a callback of this producer's scheduler or executor.
  bool IsInCallback() const;
  /// Adds a record whose space is taken to the inbox, and posts the task that empties it.
  void PutIn(Stream& stream, Incoming incoming) WEIR_REQUIRES(mutex);
  /// Returns the tenant of a record according to the latest listing of the pipeline. A record keeps
  /// its tenant when later listings differ.
  BufferQuota::Tenant TenantOf(const Stream& stream, HashKey hash) const WEIR_REQUIRES(mutex);
  /// Takes space and puts the record. Returns false if there is no space.
  Result<bool> PutIfRoom(Stream& stream, Incoming& incoming) WEIR_REQUIRES(mutex);
  /// Puts a record; if there is no space, queues the caller until there is.
  void PutWhenRoom(Stream& stream, Incoming& incoming, Done<void> done) WEIR_EXCLUDES(mutex);
  /// Queues a caller that waits for space, with a timer for put_timeout.
  void QueuePutter(Putter putter) WEIR_REQUIRES(mutex);
  /// Ends the wait of a caller that has waited for space for put_timeout.
  void GiveUpWaiting(BufferQuota::Ticket ticket) WEIR_EXCLUDES(mutex);
  bool IsClosed() const WEIR_EXCLUDES(mutex);
  /// Ends the wait of a caller of Flush whose deadline has come.
  void EndFlusher(std::uint64_t id) WEIR_EXCLUDES(mutex);

  // producer_results.cc: called by tasks of the scheduler, unless said otherwise.
  /// Delivers the results of a step, and publishes its counts and shards.
  void DeliverResults(Stream& stream, PipelineStep step) WEIR_EXCLUDES(mutex);
  /// Frees the space of the records whose callbacks run on the scheduler, and of those that the
  /// pipeline does not hold any more, and serves callers that wait.
  StepEffects ApplyResults(Stream& stream, PipelineStep& step) WEIR_REQUIRES(mutex);
  /// Moves callers that wait for space to the tenants of the new listing.
  void MoveWaiting(const Stream& stream) WEIR_REQUIRES(mutex);
  void RecordMetrics(Stream& stream, const StepEffects& effects);
  /// Removes the pending record of a result; its bytes stay if its request is still in flight.
  static PendingRecord TakePending(Stream& stream, const RecordResult& result);
  /// Puts the records of callers for which there is space now. Returns these callers. Also called
  /// on threads of the executor.
  std::vector<Waiter> ServeWaiting() WEIR_REQUIRES(mutex);
  /// Puts the records of callers whose space is taken. Returns the waiters of these callers.
  std::vector<Waiter> PutServed(std::vector<Putter> putters) WEIR_REQUIRES(mutex);
  /// Runs the callbacks of results on this thread, and notifies the callers that were served.
  void RunCallbacks(Stream& stream, StepEffects effects) WEIR_EXCLUDES(mutex);
  /// Runs one callback, then CollectFlushedOnExecutor. Both run on a thread of the callbacks'
  /// executor.
  void DeliverOnExecutor(Stream& stream, Delivery delivery) WEIR_EXCLUDES(mutex);
  void CollectFlushedOnExecutor(Stream& stream, std::uint64_t epoch) WEIR_EXCLUDES(mutex);
  /// Counts that a delivery has ended; if it was the last one after Close, runs the caller of
  /// WhenEnded.
  void EndDelivery() WEIR_EXCLUDES(mutex);
  /// Runs the `done` of Close.
  void NotifyClosed(Done<void> done) WEIR_EXCLUDES(mutex);
  /// Ends the wait of a caller with this status.
  void Notify(Waiter& waiter, Status status = {});
  /// Returns the callers of Flush that have nothing to wait for any more. Called after the
  /// callbacks of a record, since a Flush must not end while they run.
  FlushedCallers CollectFlushed(Stream& stream) WEIR_REQUIRES(mutex);
  void NotifyFlushed(Stream& stream, FlushedCallers flushed_callers) WEIR_EXCLUDES(mutex);

  // producer_tasks.cc: called by tasks of the scheduler.
  /// Moves the records of the inbox into the pipeline.
  void EmptyInbox(Stream& stream) WEIR_EXCLUDES(mutex);
  /// Flushes the pipelines of these streams.
  void FlushPipelines(const std::vector<Stream*>& streams) WEIR_EXCLUDES(mutex);
  /// Carries out a step of a pipeline.
  void CarryOut(Stream& stream, PipelineStep step) WEIR_EXCLUDES(mutex);
  /// Sets the timer of a stream for the pipeline's next wake-up.
  void SetTimer(Stream& stream, std::optional<Instant> wake);
  /// Ends the Flush of the pipeline, unless a caller waits for results of the stream.
  void EndFlushIfUnneeded(Stream& stream) WEIR_EXCLUDES(mutex);
  /// Counts that a request, listing or budget request has ended.
  void EndCall() WEIR_EXCLUDES(mutex);
  /// Ends all pipelines: each record gets its result, and no more requests are sent.
  void CutOff() WEIR_EXCLUDES(mutex);
  /// If CutOff has run and no call is in flight any more, notifies end_.
  void OnCallsEnded() WEIR_EXCLUDES(mutex);

  // producer_calls.cc: called by tasks of the scheduler.
  /// Sends requests while there are connections and bytes for them.
  void SendPending();
  void SendRequest(const SendRing::Next& next);
  void OnResponse(Stream& stream, std::uint64_t id, PutResponse response) WEIR_EXCLUDES(mutex);
  void SendListing(Stream& stream, const std::string& token);
  void SendBudgetRequest(Stream& stream, const BudgetRequest& request);
  void OnBudget(Stream& stream, ShardId shard, const Result<BudgetDecision>& response)
      WEIR_EXCLUDES(mutex);
  /// Returns the deadline of a call that begins now.
  Deadline CallDeadline() const;

  Rng rng_ WEIR_GUARDED_BY(mutex);
  std::map<Key, std::unique_ptr<Stream>> streams_ WEIR_GUARDED_BY(mutex);
  PutQueue putters_ WEIR_GUARDED_BY(mutex);
  Flushes flushes_ WEIR_GUARDED_BY(mutex);
  bool closed_ WEIR_GUARDED_BY(mutex) = false;
  ProducerEnd end_ WEIR_GUARDED_BY(mutex);

  // Used by tasks of the scheduler only.
  SendRing ring_;
  std::size_t calls_ = 0;  // in flight: requests, listings and budget requests
  bool cut_off_ = false;   ///< CutOff has run
};

}  // namespace weir::kinesis
