// From the results of a pipeline to the callbacks of their records, and to the callers that wait
// for them.
#include <absl/container/flat_hash_map.h>

#include <utility>

#include "weir/kinesis/producer_state.h"

namespace weir::kinesis {
namespace {

// The number of debts to prefetch ahead: as many as a processor fetches from memory at a time.
constexpr std::size_t kAhead = 8;

}  // namespace

void Producer::State::Pay(Stream& stream, PipelineStep step) {
  Settled settled;
  std::shared_ptr<const ShardRanges> shards = stream.pipeline.shards();
  {
    const MutexLock lock(mutex);
    stream.counts = stream.pipeline.counts();
    if (shards != stream.shards) {
      stream.shards.swap(shards);
      buffer_quota.SetShards(stream.number, stream.shards->size());
      MoveWaiting(stream);
    }
    settled = Settle(stream, step);
  }
  TellMetrics(stream, settled);
  for (Delivery& delivery : settled.elsewhere) {
    parts.callbacks->Post(
        [self = shared_from_this(), &stream, delivery = std::move(delivery)]() mutable {
          self->DeliverElsewhere(stream, std::move(delivery));
        });
  }
  const bool are_elsewhere = !settled.elsewhere.empty();
  Deliver(stream, std::move(settled));
  if (are_elsewhere) EndHurry(stream);  // callbacks on the executor may take long
}

// Otherwise a caller that waits for space of a tenant that no longer exists would wait longer than
// later callers.
void Producer::State::MoveWaiting(const Stream& stream) {
  absl::flat_hash_map<BufferQuota::Ticket, BufferQuota::Tenant> tenants;
  for (auto& [ticket, putter] : putters_) {
    if (&putter.stream != &stream) continue;
    Incoming& incoming = putter.incoming;
    incoming.debt.tenant = TenantOf(stream, incoming.record.hash);
    tenants.emplace(ticket, incoming.debt.tenant);
  }
  buffer_quota.MoveWaiting(tenants);
}

void Producer::State::TellMetrics(Stream& stream, const Settled& settled) {
  const Instant now = Now();
  for (const auto* deliveries : {&settled.here, &settled.elsewhere}) {
    for (const auto& [result, debt] : *deliveries) {
      stream.metrics.OnResult(result, debt.origin, now);
    }
  }
  stream.metrics.Publish(now);
}

Settled Producer::State::Settle(Stream& stream, PipelineStep& step) {
  Settled settled;
  settled.here.reserve(parts.callbacks == nullptr ? step.results.size() : 0);
  for (std::size_t i = 0; i < step.results.size(); ++i) {
    if (i + kAhead < step.results.size()) {
      stream.ledger.Prefetch(step.results[i + kAhead].number);
    }
    RecordResult& result = step.results[i];
    ++(result.stored ? stats.stored : stats.failed);
    stats.maybe_duplicate += result.maybe_duplicate ? 1 : 0;
    Debt debt = TakeDebt(stream, result);
    stream.epochs.Answer(debt.epoch);
    const bool is_elsewhere = parts.callbacks != nullptr && !debt.is_awaited;
    if (!is_elsewhere) buffer_quota.GiveBack(debt.tenant, {.records = 1, .bytes = debt.bytes});
    (is_elsewhere ? settled.elsewhere : settled.here)
        .push_back({std::move(result), std::move(debt)});
  }
  for (const std::uint64_t number : step.released) {
    const Debt debt = stream.ledger.Take(number);
    buffer_quota.GiveBack(debt.tenant, {.records = 0, .bytes = debt.bytes});
  }
  deliveries_ += settled.elsewhere.size();
  settled.served = Serve();
  return settled;
}

// A request in flight occupies the memory of its records, also of those that have their results.
Debt Producer::State::TakeDebt(Stream& stream, const RecordResult& result) {
  return result.is_in_flight ? stream.ledger.TakeAllButBytes(result.number)
                             : stream.ledger.Take(result.number);
}

std::vector<Waiter> Producer::State::Serve() {
  std::vector<BufferQuota::Ticket> tickets;
  buffer_quota.Serve(tickets);
  return PutServed(tickets);
}

std::vector<Waiter> Producer::State::PutServed(const std::vector<BufferQuota::Ticket>& tickets) {
  std::vector<Waiter> served;
  for (const BufferQuota::Ticket ticket : tickets) {
    Putter putter = std::move(putters_.extract(ticket).mapped());
    BeginAt(putter.incoming, Now());
    PutIn(putter.stream, std::move(putter.incoming));
    served.push_back(std::move(putter.waiter));
  }
  return served;
}

// Callbacks come last, since they may take time and may put again.
void Producer::State::Deliver(Stream& stream, Settled settled) {
  {
    const CallbackScope callbacks(&parts.scheduler);
    for (Delivery& delivery : settled.here) {
      PutDone done = std::move(delivery.debt.done);  // is destroyed before a Flush ends
      done(std::move(delivery.result));
    }
    for (Waiter& waiter : settled.served) Tell(waiter);
  }
  if (settled.here.empty()) return;
  Concluded concluded;
  {
    const MutexLock lock(mutex);
    bool are_fewer = false;
    for (const Delivery& delivery : settled.here) {
      are_fewer |= stream.epochs.Settle(delivery.debt.epoch);
    }
    if (!are_fewer) return;
    concluded = Conclude(stream);
  }
  TellFlushed(stream, std::move(concluded));
}

// The producer does not hold the record any more, and its callback may put again.
void Producer::State::DeliverElsewhere(Stream& stream, Delivery delivery) {
  std::vector<Waiter> served;
  {
    const MutexLock lock(mutex);
    buffer_quota.GiveBack(delivery.debt.tenant, {.records = 1, .bytes = delivery.debt.bytes});
    served = Serve();
  }
  for (Waiter& waiter : served) Tell(waiter);
  {
    const CallbackScope callbacks(parts.callbacks);
    PutDone done = std::move(delivery.debt.done);
    done(std::move(delivery.result));
  }
  ConcludeElsewhere(stream, delivery.debt.epoch);
  EndDelivery();
}

Concluded Producer::State::Conclude(Stream& stream) {
  Concluded concluded;
  concluded.ended_wait = flushes_.OnSettled(stream, stream.epochs, concluded.flushed);
  return concluded;
}

// A task of the scheduler notifies the callers; it counts as a delivery until then.
void Producer::State::ConcludeElsewhere(Stream& stream, std::uint64_t epoch) {
  Concluded concluded;
  {
    const MutexLock lock(mutex);
    if (!stream.epochs.Settle(epoch)) return;
    concluded = Conclude(stream);
    if (!concluded.ended_wait) return;
    ++deliveries_;
  }
  parts.scheduler.Post(
      [self = shared_from_this(), &stream, concluded = std::move(concluded)]() mutable {
        self->TellFlushed(stream, std::move(concluded));
        self->EndDelivery();
      });
}

void Producer::State::TellFlushed(Stream& stream, Concluded concluded) {
  if (concluded.ended_wait) EndHurry(stream);
  const CallbackScope callbacks(&parts.scheduler);
  for (Flusher& flusher : concluded.flushed) Tell(flusher.waiter);
}

void Producer::State::TellClosed(Done<void> done) {
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
    --deliveries_;
    done = EndIfIdle();
  }
  if (done) done({});
}

void Producer::State::Tell(Waiter& waiter, Status status) {
  if (waiter.timer) parts.scheduler.Cancel(*waiter.timer);
  waiter.done(std::move(status));
}

}  // namespace weir::kinesis
