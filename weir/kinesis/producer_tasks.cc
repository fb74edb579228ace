// The work of a producer in tasks of its scheduler, one at a time.
#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/kinesis/producer_state.h"

namespace weir::kinesis {

void Producer::State::EmptyInbox(Stream& stream) {
  std::vector<Incoming> inbox;
  {
    const MutexLock lock(mutex);
    inbox.swap(stream.inbox);
  }
  std::vector<UserRecord> records;
  records.reserve(inbox.size());
  for (Incoming& incoming : inbox) {
    stream.metrics.OnPut(incoming.pending.origin.bytes);
    incoming.record.number = stream.pending_table.Add(std::move(incoming.pending));
    records.push_back(std::move(incoming.record));
  }
  if (!records.empty()) CarryOut(stream, stream.pipeline.PutAll(std::move(records), Now()));
}

void Producer::State::FlushPipelines(const std::vector<Stream*>& streams) {
  for (Stream* stream : streams) {
    EmptyInbox(*stream);
    CarryOut(*stream, stream->pipeline.Flush(Now()));
    EndFlushIfUnneeded(*stream);  // the deadline of its Flush may have passed before this task
  }
}

void Producer::State::CarryOut(Stream& stream, PipelineStep step) {
  ring_.Enter(stream, Now());
  SetTimer(stream, step.wake);
  // After CutOff no new call begins.
  if (!cut_off_) {
    if (step.list) SendListing(stream, *std::move(step.list));
    for (const BudgetRequest& request : step.budget_requests) SendBudgetRequest(stream, request);
    SendPending();
  }
  DeliverResults(stream, std::move(step));
}

void Producer::State::EndFlushIfUnneeded(Stream& stream) {
  {
    const MutexLock lock(mutex);
    if (flushes_.AwaitsResults(stream, stream.epochs)) return;
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
  for (const auto& [stream, epoch] : flusher->awaits) EndFlushIfUnneeded(*stream);
  // Under a CallbackScope, since `done` runs on the scheduler like a callback.
  const CallbackScope callbacks(&parts.scheduler);
  flusher->waiter.done(Fail(Code::kDeadlineExceeded,
                            "some records had no result, or their callbacks had not run, in time"));
}

// A timer that fires too early costs less than a timer that is canceled at each step.
void Producer::State::SetTimer(Stream& stream, std::optional<Instant> wake) {
  if (!wake || cut_off_ || (stream.timer && stream.timer->first <= *wake)) return;
  if (stream.timer) parts.scheduler.Cancel(stream.timer->second);
  const TimerId timer = parts.scheduler.At(*wake, [self = shared_from_this(), &stream] {
    stream.timer.reset();
    if (!self->cut_off_) self->CarryOut(stream, stream.pipeline.OnWake(self->Now()));
  });
  stream.timer = {*wake, timer};
}

void Producer::State::CutOff() {
  cut_off_ = true;
  for (Stream* stream : Streams()) {
    EmptyInbox(*stream);
    if (stream->timer) parts.scheduler.Cancel(stream->timer->second);
    CarryOut(*stream, stream->pipeline.Close(Now()));
  }
  OnCallsEnded();
}

void Producer::State::EndCall() {
  --calls_;
  OnCallsEnded();
}

void Producer::State::OnCallsEnded() {
  if (!cut_off_ || calls_ > 0) return;
  Done<void> done;
  {
    const MutexLock lock(mutex);
    done = end_.OnCallsEnded();
  }
  if (done) done({});
}

bool Producer::State::HasEnded() const {
  const MutexLock lock(mutex);
  return end_.has_ended() || (end_.has_delivered() && streams_.empty());
}

void Producer::State::WhenEnded(Done<void> done) {
  {
    const MutexLock lock(mutex);
    done = end_.WhenEnded(std::move(done));
  }
  if (done) done({});
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
