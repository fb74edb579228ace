// What a producer does in tasks of its scheduler, one at a time.
#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/kinesis/producer_state.h"

namespace weir::kinesis {
namespace {

std::size_t BytesOf(const std::vector<KinesisRecord>& records) {
  std::size_t bytes = 0;
  for (const KinesisRecord& record : records) bytes += record.bytes();
  return bytes;
}

PutAnswer ToAnswer(tl::expected<JsonReply, AwsFailure> reply) {
  if (!reply) return tl::unexpected(std::move(reply.error()));
  auto entries = ReadPutRecords(reply->body);
  if (entries) return *std::move(entries);
  return tl::unexpected(AwsFailure{.kind = FailureClass::kAmbiguous,
                                   .code = "UnreadableAnswer",
                                   .message = std::move(entries.error().message),
                                   .maybe_applied = true});
}

Result<ShardPage> ToPage(const tl::expected<JsonReply, AwsFailure>& reply) {
  if (!reply) return Fail(ToError(reply.error()));
  return ReadListShards(reply->body);
}

}  // namespace

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

void Producer::State::Hurry() {
  for (Stream* stream : Streams()) {
    Receive(*stream);
    Follow(*stream, stream->pipeline.Flush(Now()));
  }
}

void Producer::State::Follow(Stream& stream, PipelineStep step) {
  if (!step.sends.empty() && stream.sends.empty()) ring_.push_back(&stream);
  std::ranges::copy(step.sends, std::back_inserter(stream.sends));
  Arm(stream, step.wake);
  if (step.list && !cut_off_) List(stream, *std::move(step.list));
  for (const BudgetAsk& ask : step.asks) Ask(stream, ask);
  Dispatch();
  Pay(stream, std::move(step.results));
}

// Callers come last: what they do in `done` may take time, and may put again.
void Producer::State::Pay(Stream& stream, std::vector<RecordResult> results) {
  std::vector<Debt> owed;
  std::vector<Waiter> served;
  std::vector<Flusher> flushed;
  bool calm = false;
  {
    const MutexLock lock(mutex);
    stream.counts = stream.pipeline.counts();
    Load load;
    for (const RecordResult& result : results) {
      Debt debt = stream.ledger.Take(result.number);
      load.bytes += debt.bytes;
      ++load.records;
      const auto epoch = epochs_.find(debt.epoch);
      if (--epoch->second == 0) epochs_.erase(epoch);
      ++(result.stored ? stats.stored : stats.failed);
      stats.maybe_duplicate += result.maybe_duplicate ? 1 : 0;
      owed.push_back(std::move(debt));
    }
    std::vector<Room::Ticket> tickets;
    if (load.records > 0) room.GiveBack(stream.tenant, load, tickets);
    for (const Room::Ticket ticket : tickets) {
      served.push_back(std::move(waiters_.extract(ticket).mapped()));
    }
    for (Flusher& flusher : std::exchange(flushers_, {})) {
      (IsThrough(flusher.epoch) ? flushed : flushers_).push_back(std::move(flusher));
    }
    calm = flushers_.empty() && !flushed.empty();
  }
  const Instant now = Now();
  for (std::size_t i = 0; i < results.size(); ++i) {
    stream.metrics.OnResult(results[i], owed[i].origin, now);
  }
  stream.metrics.Publish(now);
  for (std::size_t i = 0; i < results.size(); ++i) owed[i].done(std::move(results[i]));
  for (Waiter& waiter : served) {
    if (waiter.timer) parts.scheduler.Cancel(*waiter.timer);
    waiter.done({});
  }
  if (calm) EndHurry();
  for (Flusher& flusher : flushed) {
    if (flusher.timer) parts.scheduler.Cancel(*flusher.timer);
    flusher.done({});
  }
}

void Producer::State::EndHurry() {
  for (Stream* stream : Streams()) stream->pipeline.EndFlush();
}

void Producer::State::EndFlusher(std::uint64_t id) {
  Done<void> done;
  bool calm = false;
  {
    const MutexLock lock(mutex);
    const auto at = std::ranges::find(flushers_, id, &Flusher::id);
    if (at == flushers_.end()) return;
    done = std::move(at->done);
    flushers_.erase(at);
    calm = flushers_.empty();
  }
  if (calm) EndHurry();
  done(Fail(Code::kDeadlineExceeded, "not every record had its result in time"));
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

// One request of each stream in turn.
void Producer::State::Dispatch() {
  while (!ring_.empty() && std::cmp_less(requests_, config.max_connections)) {
    Stream& stream = *ring_.front();
    const PipelineStep::Send send = stream.sends.front();
    const std::size_t bytes = BytesOf(*send.records);
    if (requests_ > 0 && std::cmp_greater(bytes_ + bytes, config.max_in_flight_bytes)) return;
    ring_.pop_front();
    stream.sends.pop_front();
    if (!stream.sends.empty()) ring_.push_back(&stream);
    ++requests_;
    bytes_ += bytes;
    stream.metrics.OnSend(*send.records);
    Send(stream, send, bytes);
  }
}

void Producer::State::Send(Stream& stream, PipelineStep::Send send, std::size_t bytes) {
  ++calls_;
  JsonCall call{.operation = "PutRecords", .body = PutRecordsBody(stream.address, *send.records)};
  const auto self = shared_from_this();
  parts.client.Call(
      std::move(call), CallDeadline(),
      [self, &stream, id = send.id, bytes](tl::expected<JsonReply, AwsFailure> reply) {
        self->parts.scheduler.Post(
            [self, &stream, id, bytes, answer = ToAnswer(std::move(reply))]() mutable {
              --self->requests_;
              self->bytes_ -= bytes;
              self->EndCall();
              self->OnAnswer(stream, id, std::move(answer));
            });
      });
}

void Producer::State::OnAnswer(Stream& stream, std::uint64_t id, PutAnswer answer) {
  const Instant now = Now();
  if (const Outbox::Flight* flight = stream.pipeline.UnderWay(id)) {
    stream.metrics.OnAnswer(flight->records, answer, flight->began, now);
  }
  Follow(stream, stream.pipeline.OnAnswer(id, std::move(answer), now));
}

void Producer::State::List(Stream& stream, const std::string& token) {
  ++calls_;
  JsonCall call{
      .operation = "ListShards", .body = ListShardsBody(stream.address, token), .repeatable = true};
  const auto self = shared_from_this();
  parts.client.Call(std::move(call), CallDeadline(),
                    [self, &stream](const tl::expected<JsonReply, AwsFailure>& reply) {
                      self->parts.scheduler.Post([self, &stream, page = ToPage(reply)]() mutable {
                        self->EndCall();
                        self->Follow(stream,
                                     stream.pipeline.OnListed(std::move(page), self->Now()));
                      });
                    });
}

void Producer::State::Ask(Stream& stream, const BudgetAsk& ask) {
  ++calls_;
  parts.budget->Ask(
      stream.address, ask, [self = shared_from_this(), &stream, shard = ask.shard](bool granted) {
        self->parts.scheduler.Post([self, &stream, shard, granted] {
          self->EndCall();
          self->Follow(stream, stream.pipeline.OnGranted(shard, granted, self->Now()));
        });
      });
}

Deadline Producer::State::CallDeadline() const {
  return Deadline::After(parts.scheduler.clock(),
                         Saturated(config.connect_timeout) + Saturated(config.request_timeout));
}

void Producer::State::CutOff() {
  for (Stream* stream : Streams()) {
    Receive(*stream);
    cut_off_ = true;
    if (stream->timer) parts.scheduler.Cancel(stream->timer->second);
    stream->sends.clear();
    std::erase(ring_, stream);
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
  for (const auto& [key, stream] : streams_) all.push_back(stream.get());
  return all;
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
