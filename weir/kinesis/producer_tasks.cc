// What a producer does in tasks of its scheduler, one at a time.
#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/kinesis/producer_state.h"

namespace weir::kinesis {

void Producer::State::Receive(Stream& stream) {
  std::vector<Incoming> inbox;
  {
    const MutexLock lock(mutex);
    inbox.swap(stream.inbox);
  }
  std::vector<UserRecord> records;
  records.reserve(inbox.size());
  for (Incoming& incoming : inbox) {
    stream.metrics.OnPut(incoming.debt.origin.bytes);
    incoming.record.number = stream.ledger.Add(std::move(incoming.debt));
    records.push_back(std::move(incoming.record));
  }
  if (!records.empty()) Follow(stream, stream.pipeline.PutAll(std::move(records), Now()));
}

void Producer::State::Hurry(const std::vector<Stream*>& streams) {
  for (Stream* stream : streams) {
    Receive(*stream);
    Follow(*stream, stream->pipeline.Flush(Now()));
    EndHurry(*stream);  // the deadline of a Flush may end it before its task runs
  }
}

void Producer::State::Follow(Stream& stream, PipelineStep step) {
  EnterRing(stream);
  Arm(stream, step.wake);
  if (step.list && !cut_off_) List(stream, *std::move(step.list));
  for (const BudgetAsk& ask : step.asks) Ask(stream, ask);
  Dispatch();
  Pay(stream, std::move(step));
}

// A request in flight occupies the memory of its records, also of those that have results.
std::vector<Debt> Producer::State::TakeDebts(Stream& stream, const PipelineStep& step) {
  std::vector<Debt> owed;
  owed.reserve(step.results.size());
  for (const RecordResult& result : step.results) {
    const Debt& debt =
        owed.emplace_back(result.is_in_flight ? stream.ledger.TakeAllButBytes(result.number)
                                              : stream.ledger.Take(result.number));
    room.GiveBack(debt.tenant, {.records = 1, .bytes = debt.bytes});
  }
  for (const std::uint64_t number : step.released) {
    const Debt debt = stream.ledger.Take(number);
    room.GiveBack(debt.tenant, {.records = 0, .bytes = debt.bytes});
  }
  return owed;
}

std::vector<Waiter> Producer::State::PutServed(const std::vector<Room::Ticket>& tickets) {
  std::vector<Waiter> served;
  for (const Room::Ticket ticket : tickets) {
    Putter putter = std::move(putters_.extract(ticket).mapped());
    BeginAt(putter.incoming, Now());
    PutIn(putter.stream, std::move(putter.incoming));
    served.push_back(std::move(putter.waiter));
  }
  return served;
}

Producer::State::Settled Producer::State::Settle(Stream& stream, const PipelineStep& step) {
  Settled settled{.owed = TakeDebts(stream, step)};
  for (const RecordResult& result : step.results) {
    ++(result.stored ? stats.stored : stats.failed);
    stats.maybe_duplicate += result.maybe_duplicate ? 1 : 0;
  }
  std::vector<Room::Ticket> tickets;
  room.Serve(tickets);
  settled.served = PutServed(tickets);
  return settled;
}

// Callers come last: what they do in `done` may take time, and may put again.
void Producer::State::Pay(Stream& stream, PipelineStep step) {
  Settled settled;
  std::shared_ptr<const ShardRanges> shards = stream.pipeline.shards();
  {
    const MutexLock lock(mutex);
    stream.counts = stream.pipeline.counts();
    if (shards != stream.shards) {
      stream.shards.swap(shards);
      room.SetShards(stream.number, stream.shards->size());
    }
    settled = Settle(stream, step);
  }
  std::vector<RecordResult>& results = step.results;
  const Instant now = Now();
  for (std::size_t i = 0; i < results.size(); ++i) {
    stream.metrics.OnResult(results[i], settled.owed[i].origin, now);
  }
  stream.metrics.Publish(now);
  {
    const CallbackScope callbacks(parts.scheduler);
    for (std::size_t i = 0; i < results.size(); ++i) settled.owed[i].done(std::move(results[i]));
    for (Waiter& waiter : settled.served) Tell(waiter);
  }
  if (!results.empty()) Conclude(stream, settled.owed);
}

// A Flush on another thread must not end while the callbacks of its records run.
void Producer::State::Conclude(Stream& stream, const std::vector<Debt>& settled) {
  std::vector<Flusher> flushed;
  bool is_awaited = false;
  {
    const MutexLock lock(mutex);
    for (const Debt& debt : settled) stream.epochs.Settle(debt.epoch);
    flushes_.OnSettled(stream, stream.epochs, flushed);
    is_awaited = flushes_.Awaits(stream);
  }
  if (!is_awaited) stream.pipeline.EndFlush();
  const CallbackScope callbacks(parts.scheduler);
  for (Flusher& flusher : flushed) Tell(flusher.waiter);
}

void Producer::State::Tell(Waiter& waiter) {
  if (waiter.timer) parts.scheduler.Cancel(*waiter.timer);
  waiter.done({});
}

void Producer::State::EndHurry(Stream& stream) {
  {
    const MutexLock lock(mutex);
    if (flushes_.Awaits(stream)) return;
  }
  stream.pipeline.EndFlush();
}

void Producer::State::EndFlusher(std::uint64_t id) {
  std::optional<Flusher> flusher;
  {
    const MutexLock lock(mutex);
    flusher = flushes_.Take(id);
  }
  if (!flusher) return;
  for (const auto& [stream, epoch] : flusher->awaits) EndHurry(*stream);
  const CallbackScope callbacks(parts.scheduler);
  flusher->waiter.done(Fail(Code::kDeadlineExceeded, "not every record had its result in time"));
}

// A timer that comes too early costs less than one that is cancelled at each step.
void Producer::State::Arm(Stream& stream, std::optional<Instant> wake) {
  if (!wake || cut_off_ || (stream.timer && stream.timer->first <= *wake)) return;
  if (stream.timer) parts.scheduler.Cancel(stream.timer->second);
  const TimerId timer = parts.scheduler.At(*wake, [self = shared_from_this(), &stream] {
    stream.timer.reset();
    if (!self->cut_off_) self->Follow(stream, stream.pipeline.OnWake(self->Now()));
  });
  stream.timer = {*wake, timer};
}

void Producer::State::CutOff() {
  for (Stream* stream : Streams()) {
    Receive(*stream);
    cut_off_ = true;
    if (stream->timer) parts.scheduler.Cancel(stream->timer->second);
    Follow(*stream, stream->pipeline.Close(Now()));
  }
  cut_off_ = true;
  EndIfThrough();
}

void Producer::State::EndCall() {
  --calls_;
  EndIfThrough();
}

void Producer::State::EndIfThrough() {
  if (!cut_off_ || calls_ > 0) return;
  Done<void> done;
  {
    const MutexLock lock(mutex);
    ended_ = true;
    done = std::exchange(on_end_, nullptr);
  }
  if (done) done({});
}

bool Producer::State::HasEnded() const {
  const MutexLock lock(mutex);
  return ended_ || streams_.empty();
}

void Producer::State::WhenEnded(Done<void> done) {
  {
    const MutexLock lock(mutex);
    if (!ended_) {
      on_end_ = std::move(done);
      return;
    }
  }
  done({});
}

std::vector<Producer::Stream*> Producer::State::Streams() const {
  const MutexLock lock(mutex);
  std::vector<Stream*> all;
  all.reserve(streams_.size());
  for (const auto& [key, stream] : streams_) all.push_back(stream.get());
  return all;
}

nanoseconds Producer::State::OldestAge() const {
  const Instant now = Now();
  Instant oldest = now;
  const MutexLock lock(mutex);
  for (const auto& [key, stream] : streams_) {
    oldest = std::min(oldest, stream->epochs.oldest().value_or(now));
  }
  return now - oldest;
}

ProducerStats Producer::State::Stats() const {
  const MutexLock lock(mutex);
  ProducerStats all = stats;
  for (const auto& [key, stream] : streams_) {
    all.kinesis_records += stream->counts.kinesis_records;
    all.requests += stream->counts.requests;
    all.throttled += stream->counts.throttled;
    all.retries += stream->counts.retries;
  }
  return all;
}

}  // namespace weir::kinesis
