// The work of a producer on the threads of its callers. The work that follows: producer_tasks.cc.
#include <utility>

#include "weir/kinesis/producer_state.h"
#include "weir/runtime/await.h"

namespace weir::kinesis {
namespace {

tl::unexpected<Error> ProducerIsClosed() {
  return Fail(Code::kCancelled, "the producer is closed");
}

tl::unexpected<Error> WouldNotEnd() {
  return Fail(Code::kFailedPrecondition,
              "a call that waits was made within a callback of the producer, where it might wait "
              "for ever: use TryPut, or Flush and Close with a callback");
}

tl::unexpected<Error> QuotaIsFull() {
  return Fail(
      Code::kResourceExhausted,
      "the producer has no space for the record: it holds as many records as it may in all, "
      "or of the record's stream or shard (max_outstanding_records, "
      "max_outstanding_bytes); put again when some of them have results or, with an "
      "executor of callbacks, when their callbacks have begun");
}

std::size_t ToSize(std::int64_t number) { return static_cast<std::size_t>(number); }

Status CheckAddress(const StreamAddress& address) {
  if (address.name.empty() != address.arn.empty()) return {};
  return Fail(Code::kInvalidArgument, "a stream has a name or an ARN: give one of them");
}

}  // namespace

Producer::State::State(const ProducerParts& producer_parts, ProducerConfig producer_config,
                       std::uint64_t seed)
    : parts(producer_parts),
      config(std::move(producer_config)),
      buffer_quota({.max_records = ToSize(config.max_outstanding_records),
                    .max_bytes = ToSize(config.max_outstanding_bytes)}),
      metrics(MetricsOf(config), [this] { return OldestAge(); }),
      rng_(seed),
      ring_({.max_requests = config.max_connections, .max_bytes = config.max_in_flight_bytes}) {}

Result<Producer::Stream*> Producer::State::Open(const StreamAddress& address) {
  WEIR_RETURN_IF_ERROR(CheckAddress(address));
  const MutexLock lock(mutex);
  if (closed_) return ProducerIsClosed();
  std::unique_ptr<Stream>& stream = streams_[{address.name, address.arn}];
  if (stream == nullptr) {
    PipelineOptions options = config.Pipeline();
    options.sends_on_demand = true;
    if (parts.budget != nullptr) options.shared_budget.emplace();
    const std::string& name = address.name.empty() ? address.arn : address.name;
    stream =
        std::make_unique<Stream>(address, buffer_quota.AddStream(), Pipeline(options, rng_.Next()),
                                 metrics.Stream(name), parts.log);
    // The first step requests the listing of the stream's shards.
    parts.scheduler.Post([self = shared_from_this(), opened = stream.get()] {
      self->CarryOut(*opened, opened->pipeline.OnWake(self->Now()));
    });
  }
  return stream.get();
}

void Producer::State::PutIn(Stream& stream, Incoming incoming) {
  ++stats.records;
  stats.bytes += incoming.record.data.size();
  incoming.pending.epoch = stream.epochs.Put(incoming.pending.origin.put);
  stream.inbox.push_back(std::move(incoming));
  // If the inbox had records, the task that empties it is already posted.
  if (stream.inbox.size() > 1) return;
  parts.scheduler.Post([self = shared_from_this(), &stream] { self->EmptyInbox(stream); });
}

BufferQuota::Tenant Producer::State::TenantOf(const Stream& stream, HashKey hash) const {
  return {.stream = stream.number, .shard = stream.shards->ShardOf(hash)};
}

Result<bool> Producer::State::PutIfRoom(Stream& stream, Incoming& incoming) {
  if (closed_) return ProducerIsClosed();
  incoming.pending.tenant = TenantOf(stream, incoming.record.hash);
  if (!buffer_quota.Take(incoming.pending.tenant, {1, incoming.pending.bytes})) return false;
  PutIn(stream, std::move(incoming));
  return true;
}

Status Producer::State::Put(Stream& stream, Incoming incoming) {
  if (config.put_timeout == milliseconds(0)) return TryPut(stream, std::move(incoming));
  if (IsInCallback()) return PutAtOnce(stream, std::move(incoming));
  return Await<void>([&](Done<void> done) { PutWhenRoom(stream, incoming, std::move(done)); });
}

Status Producer::State::TryPut(Stream& stream, Incoming incoming) {
  const MutexLock lock(mutex);
  WEIR_ASSIGN_OR_RETURN(const bool was_put, PutIfRoom(stream, incoming));
  if (!was_put) return QuotaIsFull();
  return {};
}

Status Producer::State::PutAtOnce(Stream& stream, Incoming incoming) {
  Status put = TryPut(stream, std::move(incoming));
  const bool is_full = !put && put.error().code == Code::kResourceExhausted;
  return is_full ? CheckMayBlock() : put;
}

bool Producer::State::IsInCallback() const {
  return CallbackScope::IsIn(&parts.scheduler) || CallbackScope::IsIn(parts.callbacks);
}

// A call that waits for space, for a Flush or for Close may wait for callbacks, which may wait for
// this thread.
Status Producer::State::CheckMayBlock() const {
  if (!IsInCallback()) return {};
  return WouldNotEnd();
}

Status Producer::State::CheckMayAwaitResult() const {
  if (!CallbackScope::IsIn(&parts.scheduler)) return {};
  return WouldNotEnd();
}

void Producer::State::PutWhenRoom(Stream& stream, Incoming& incoming, Done<void> done) {
  Result<bool> was_put;
  {
    const MutexLock lock(mutex);
    was_put = PutIfRoom(stream, incoming);
    if (was_put && !*was_put) return QueuePutter({stream, incoming, {.done = std::move(done)}});
  }
  done(was_put ? Status() : Fail(std::move(was_put.error())));
}

void Producer::State::QueuePutter(Putter putter) {
  const PutQueue::Ticket ticket = putters_.Wait(buffer_quota, std::move(putter));
  const Deadline end = Deadline::After(parts.scheduler.clock(), Saturated(config.put_timeout));
  // Without a timer the caller waits for as long as it takes.
  if (config.put_timeout == milliseconds::max() || end.is_never()) return;
  putters_.WaiterOf(ticket).timer = parts.scheduler.At(
      end.at(), [self = shared_from_this(), ticket] { self->GiveUpWaiting(ticket); });
}

void Producer::State::GiveUpWaiting(BufferQuota::Ticket ticket) {
  std::optional<PutQueue::Canceled> canceled;
  std::vector<Waiter> served;
  {
    const MutexLock lock(mutex);
    canceled = putters_.Cancel(buffer_quota, ticket);
    if (!canceled) return;
    served = PutServed(std::move(canceled->served));
  }
  canceled->waiter.done(QuotaIsFull());
  for (Waiter& waiter : served) Notify(waiter);
}

void Producer::State::Flush(const std::vector<Stream*>& streams, Deadline deadline,
                            Done<void> done) {
  if (IsClosed()) return done(ProducerIsClosed());
  FlushEvenIfClosed(streams, deadline, std::move(done));
}

bool Producer::State::IsClosed() const {
  const MutexLock lock(mutex);
  return closed_;
}

void Producer::State::FlushEvenIfClosed(const std::vector<Stream*>& streams, Deadline deadline,
                                        Done<void> done) {
  {
    const MutexLock lock(mutex);
    std::vector<Stream*> busy;
    Flusher::Awaits awaits;
    for (Stream* stream : streams) {
      const std::uint64_t last = stream->epochs.EndPresent();
      if (stream->epochs.IsDone(last)) continue;
      busy.push_back(stream);
      awaits.emplace(stream, last);
    }
    if (!busy.empty()) {
      Flusher& flusher = flushes_.Add(std::move(awaits), std::move(done));
      const auto self = shared_from_this();
      parts.scheduler.Post([self, busy = std::move(busy)] { self->FlushPipelines(busy); });
      if (deadline.is_never()) return;
      flusher.waiter.timer =
          parts.scheduler.At(deadline.at(), [self, id = flusher.id] { self->EndFlusher(id); });
      return;
    }
  }
  done({});
}

void Producer::State::Close(Deadline deadline, Done<void> done) {
  std::vector<Putter> refused;
  {
    const MutexLock lock(mutex);
    closed_ = true;
    refused = putters_.CancelAll(buffer_quota);
    end_.BeginDeliveries(1);  // one for `done`
  }
  for (Putter& putter : refused) Notify(putter.waiter, ProducerIsClosed());
  // Runs when the flush has ended, or at `deadline`.
  auto cut_off = [self = shared_from_this(), done = std::move(done)](const Status&) mutable {
    self->parts.scheduler.Post([self, done = std::move(done)]() mutable {
      self->CutOff();
      self->FlushEvenIfClosed(self->Streams(), Deadline::Never(),
                              [self, done = std::move(done)](const Status&) mutable {
                                self->NotifyClosed(std::move(done));
                              });
    });
  };
  // If the deadline has passed, a flush would only send records that are cut off at once.
  if (deadline.ExpiredAt(Now())) return cut_off({});
  FlushEvenIfClosed(Streams(), deadline, std::move(cut_off));
}

}  // namespace weir::kinesis
