// From the results of a pipeline to the callbacks of their records, and to the callers that wait
// for them.
#include <utility>

#include "weir/kinesis/producer_state.h"

namespace weir::kinesis {
namespace {

// The number of pending records to prefetch ahead: as many as a processor fetches from memory at a
// time.
constexpr std::size_t kAhead = 8;

}  // namespace

void Producer::State::DeliverResults(Stream& stream, PipelineStep step) {
  StepEffects effects;
  std::shared_ptr<const ShardRanges> shards = stream.pipeline.shards();
  {
    const MutexLock lock(mutex);
    stream.counts = stream.pipeline.counts();
    if (shards != stream.shards) {
      stream.shards.swap(shards);
      buffer_quota.SetShards(stream.number, stream.shards->size());
      MoveWaiting(stream);
    }
    effects = ApplyResults(stream, step);
  }
  RecordMetrics(stream, effects);
  for (Delivery& delivery : effects.on_executor) {
    parts.callbacks->Post(
        [self = shared_from_this(), &stream, delivery = std::move(delivery)]() mutable {
          self->DeliverOnExecutor(stream, std::move(delivery));
        });
  }
  const bool are_on_executor = !effects.on_executor.empty();
  RunCallbacks(stream, std::move(effects));
  if (are_on_executor) EndFlushIfUnneeded(stream);  // callbacks on the executor may take long
}

void Producer::State::MoveWaiting(const Stream& stream) {
  putters_.MoveWaiting(buffer_quota, stream,
                       [&](HashKey hash) WEIR_REQUIRES(mutex) { return TenantOf(stream, hash); });
}

void Producer::State::RecordMetrics(Stream& stream, const StepEffects& effects) {
  const Instant now = Now();
  for (const auto* deliveries : {&effects.on_scheduler, &effects.on_executor}) {
    for (const auto& [result, pending] : *deliveries) {
      stream.metrics.OnResult(result, pending.origin, now);
    }
  }
  stream.metrics.Publish(now);
}

StepEffects Producer::State::ApplyResults(Stream& stream, PipelineStep& step) {
  StepEffects effects;
  effects.on_scheduler.reserve(parts.callbacks == nullptr ? step.results.size() : 0);
  for (std::size_t i = 0; i < step.results.size(); ++i) {
    if (i + kAhead < step.results.size()) {
      stream.pending_table.Prefetch(step.results[i + kAhead].number);
    }
    RecordResult& result = step.results[i];
    ++(result.stored ? stats.stored : stats.failed);
    stats.maybe_duplicate += result.maybe_duplicate ? 1 : 0;
    PendingRecord pending = TakePending(stream, result);
    stream.epochs.OnResult(pending.epoch);
    const bool is_on_executor = parts.callbacks != nullptr && !pending.is_awaited;
    if (!is_on_executor)
      buffer_quota.GiveBack(pending.tenant, {.records = 1, .bytes = pending.bytes});
    (is_on_executor ? effects.on_executor : effects.on_scheduler)
        .push_back({std::move(result), std::move(pending)});
  }
  for (const std::uint64_t number : step.released) {
    const PendingRecord pending = stream.pending_table.Take(number);
    buffer_quota.GiveBack(pending.tenant, {.records = 0, .bytes = pending.bytes});
  }
  end_.BeginDeliveries(effects.on_executor.size());
  effects.served = ServeWaiting();
  return effects;
}

// A request in flight occupies the memory of its records, also of those that have their results.
PendingRecord Producer::State::TakePending(Stream& stream, const RecordResult& result) {
  return result.is_in_flight ? stream.pending_table.TakeAllButBytes(result.number)
                             : stream.pending_table.Take(result.number);
}

std::vector<Waiter> Producer::State::ServeWaiting() {
  return PutServed(putters_.Serve(buffer_quota));
}

std::vector<Waiter> Producer::State::PutServed(std::vector<Putter> putters) {
  std::vector<Waiter> served;
  for (Putter& putter : putters) {
    BeginAt(putter.incoming, Now());
    PutIn(putter.stream, std::move(putter.incoming));
    served.push_back(std::move(putter.waiter));
  }
  return served;
}

// Callbacks come last, since they may take time and may put again.
void Producer::State::RunCallbacks(Stream& stream, StepEffects effects) {
  {
    const CallbackScope callbacks(&parts.scheduler);
    for (Delivery& delivery : effects.on_scheduler) {
      PutDone done = std::move(delivery.pending.done);  // is destroyed before a Flush ends
      done(std::move(delivery.result));
    }
    for (Waiter& waiter : effects.served) Notify(waiter);
  }
  if (effects.on_scheduler.empty()) return;
  FlushedCallers flushed_callers;
  {
    const MutexLock lock(mutex);
    bool has_epoch_ended = false;
    for (const Delivery& delivery : effects.on_scheduler) {
      has_epoch_ended |= stream.epochs.OnCallbackRan(delivery.pending.epoch);
    }
    if (!has_epoch_ended) return;
    flushed_callers = CollectFlushed(stream);
  }
  NotifyFlushed(stream, std::move(flushed_callers));
}

// The space is freed before the callback runs: the producer does not hold the record any more, and
// the callback may put again.
void Producer::State::DeliverOnExecutor(Stream& stream, Delivery delivery) {
  std::vector<Waiter> served;
  {
    const MutexLock lock(mutex);
    buffer_quota.GiveBack(delivery.pending.tenant, {.records = 1, .bytes = delivery.pending.bytes});
    served = ServeWaiting();
  }
  for (Waiter& waiter : served) Notify(waiter);
  {
    const CallbackScope callbacks(parts.callbacks);
    PutDone done = std::move(delivery.pending.done);
    done(std::move(delivery.result));
  }
  CollectFlushedOnExecutor(stream, delivery.pending.epoch);
  EndDelivery();
}

FlushedCallers Producer::State::CollectFlushed(Stream& stream) {
  FlushedCallers flushed_callers;
  flushed_callers.ended_wait =
      flushes_.OnCallbacksRan(stream, stream.epochs, flushed_callers.flushed);
  return flushed_callers;
}

// A task of the scheduler notifies the callers; it counts as a delivery until it has run.
void Producer::State::CollectFlushedOnExecutor(Stream& stream, std::uint64_t epoch) {
  FlushedCallers flushed_callers;
  {
    const MutexLock lock(mutex);
    if (!stream.epochs.OnCallbackRan(epoch)) return;
    flushed_callers = CollectFlushed(stream);
    if (!flushed_callers.ended_wait) return;
    end_.BeginDeliveries(1);
  }
  parts.scheduler.Post(
      [self = shared_from_this(), &stream, flushed_callers = std::move(flushed_callers)]() mutable {
        self->NotifyFlushed(stream, std::move(flushed_callers));
        self->EndDelivery();
      });
}

void Producer::State::NotifyFlushed(Stream& stream, FlushedCallers flushed_callers) {
  if (flushed_callers.ended_wait) EndFlushIfUnneeded(stream);
  const CallbackScope callbacks(&parts.scheduler);
  for (Flusher& flusher : flushed_callers.flushed) Notify(flusher.waiter);
}

void Producer::State::NotifyClosed(Done<void> done) {
  {
    const CallbackScope callbacks(&parts.scheduler);
    Done<void> closed = std::move(done);  // is destroyed before the producer may be
    closed({});
  }
  EndDelivery();
}

void Producer::State::EndDelivery() {
  Done<void> done;
  {
    const MutexLock lock(mutex);
    done = end_.EndDelivery();
  }
  if (done) done({});
}

void Producer::State::Notify(Waiter& waiter, Status status) {
  if (waiter.timer) parts.scheduler.Cancel(*waiter.timer);
  waiter.done(std::move(status));
}

}  // namespace weir::kinesis
