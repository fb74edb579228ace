// What the threads of a producer share. Inside of the producer only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/kinesis/callback_scope.h"
#include "weir/kinesis/producer_results.h"
#include "weir/kinesis/producer_stream.h"

namespace weir::kinesis {

/// Callers take room and put into a stream's inbox, under the lock; all else happens in tasks of
/// the scheduler, of which each keeps this alive.
struct Producer::State : std::enable_shared_from_this<State> {
  State(const ProducerParts& parts, ProducerConfig config, std::uint64_t seed);

  // producer_callers.cc: for callers, on any thread.
  Result<Stream*> Open(const StreamAddress& address) WEIR_EXCLUDES(mutex);
  Status TryPut(Stream& stream, Incoming incoming) WEIR_EXCLUDES(mutex);
  /// Waits for room as the configuration says.
  Status Put(Stream& stream, Incoming incoming) WEIR_EXCLUDES(mutex);
  /// kFailedPrecondition: this thread runs a callback, on which a call that blocks might wait.
  Status CheckMayBlock() const;
  /// The same for a call that waits for no callback.
  Status CheckMayAwaitResult() const;
  void Flush(const std::vector<Stream*>& streams, Deadline deadline, Done<void> done)
      WEIR_EXCLUDES(mutex);
  /// As Flush, also when the producer is closed.
  void AwaitResults(const std::vector<Stream*>& streams, Deadline deadline, Done<void> done)
      WEIR_EXCLUDES(mutex);
  void Close(Deadline deadline, Done<void> done) WEIR_EXCLUDES(mutex);
  /// `done` runs when nothing is under way any more, after Close.
  void WhenEnded(Done<void> done) WEIR_EXCLUDES(mutex);
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

  /// Within a callback: what cannot be taken now must not be waited for.
  Status PutAtOnce(Stream& stream, Incoming incoming) WEIR_EXCLUDES(mutex);
  bool IsInCallback() const;
  void PutIn(Stream& stream, Incoming incoming) WEIR_REQUIRES(mutex);
  /// By the pipeline's latest listing. A record keeps its tenant when later listings differ.
  BufferQuota::Tenant TenantOf(const Stream& stream, HashKey hash) const WEIR_REQUIRES(mutex);
  /// False: there is no room.
  Result<bool> PutIfRoom(Stream& stream, Incoming& incoming) WEIR_REQUIRES(mutex);
  void PutWhenRoom(Stream& stream, Incoming& incoming, Done<void> done) WEIR_EXCLUDES(mutex);
  void Queue(Putter putter) WEIR_REQUIRES(mutex);
  void GiveUpWaiting(BufferQuota::Ticket ticket) WEIR_EXCLUDES(mutex);
  bool IsClosed() const WEIR_EXCLUDES(mutex);
  void EndFlusher(std::uint64_t id) WEIR_EXCLUDES(mutex);
  std::vector<Waiter> Refused() WEIR_REQUIRES(mutex);

  // producer_results.cc: for tasks of the scheduler, unless said otherwise.
  void Pay(Stream& stream, PipelineStep step) WEIR_EXCLUDES(mutex);
  /// Gives back the room of what is not delivered elsewhere, and of what the pipeline holds no
  /// more.
  Settled Settle(Stream& stream, PipelineStep& step) WEIR_REQUIRES(mutex);
  void MoveWaiting(const Stream& stream) WEIR_REQUIRES(mutex);
  void TellMetrics(Stream& stream, const Settled& settled);
  static Debt TakeDebt(Stream& stream, const RecordResult& result);
  /// Puts the records that have room now; returns their callers.
  std::vector<Waiter> Serve() WEIR_REQUIRES(mutex);
  std::vector<Waiter> PutServed(const std::vector<BufferQuota::Ticket>& tickets)
      WEIR_REQUIRES(mutex);
  void Deliver(Stream& stream, Settled settled) WEIR_EXCLUDES(mutex);
  /// On a thread of the callbacks; so are the next three.
  void DeliverElsewhere(Stream& stream, Delivery delivery) WEIR_EXCLUDES(mutex);
  void ConcludeElsewhere(Stream& stream, std::uint64_t epoch) WEIR_EXCLUDES(mutex);
  void EndDelivery() WEIR_EXCLUDES(mutex);
  void TellClosed(Done<void> done) WEIR_EXCLUDES(mutex);
  void Tell(Waiter& waiter, Status status = {});
  /// After the callbacks of a record: a Flush must not end while they run.
  Concluded Conclude(Stream& stream) WEIR_REQUIRES(mutex);
  void TellFlushed(Stream& stream, Concluded concluded) WEIR_EXCLUDES(mutex);

  // producer_tasks.cc: for tasks of the scheduler.
  void Receive(Stream& stream) WEIR_EXCLUDES(mutex);
  void Hurry(const std::vector<Stream*>& streams) WEIR_EXCLUDES(mutex);
  void Follow(Stream& stream, PipelineStep step) WEIR_EXCLUDES(mutex);
  void Arm(Stream& stream, std::optional<Instant> wake);
  /// Unless somebody waits for a Flush of it.
  void EndHurry(Stream& stream) WEIR_EXCLUDES(mutex);
  void EndCall() WEIR_EXCLUDES(mutex);
  void CutOff() WEIR_EXCLUDES(mutex);
  void EndIfThrough() WEIR_EXCLUDES(mutex);
  /// Who waits for the end, where it has come.
  Done<void> EndIfIdle() WEIR_REQUIRES(mutex);

  // producer_calls.cc: the same.
  void Dispatch();
  void EnterRing(Stream& stream);
  void Send(Stream& stream, PipelineStep::Send send, std::size_t bytes);
  void OnAnswer(Stream& stream, std::uint64_t id, PutAnswer answer) WEIR_EXCLUDES(mutex);
  void List(Stream& stream, const std::string& token);
  void Ask(Stream& stream, const BudgetAsk& ask);
  void OnBudget(Stream& stream, ShardId shard, const Result<BudgetDecision>& answer)
      WEIR_EXCLUDES(mutex);
  Deadline CallDeadline() const;
  Deadline PutDeadline(const std::vector<KinesisRecord>& records) const;

  Rng rng_ WEIR_GUARDED_BY(mutex);
  std::map<Key, std::unique_ptr<Stream>> streams_ WEIR_GUARDED_BY(mutex);
  std::map<BufferQuota::Ticket, Putter> putters_ WEIR_GUARDED_BY(mutex);
  Flushes flushes_ WEIR_GUARDED_BY(mutex);
  bool closed_ WEIR_GUARDED_BY(mutex) = false;
  std::size_t deliveries_ WEIR_GUARDED_BY(mutex) = 0;  // elsewhere or of Close, under way
  bool calls_have_ended_ WEIR_GUARDED_BY(mutex) = false;
  bool ended_ WEIR_GUARDED_BY(mutex) = false;
  Done<void> on_end_ WEIR_GUARDED_BY(mutex);

  // For tasks of the scheduler.
  std::deque<Stream*> ring_;  // that have something to send, in turn
  std::size_t requests_ = 0;  // under way
  std::size_t bytes_ = 0;     // of these, as the outboxes count them
  std::size_t calls_ = 0;     // under way: requests and listings
  bool cut_off_ = false;
};

}  // namespace weir::kinesis
