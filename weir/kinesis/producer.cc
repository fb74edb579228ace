// What callers do, on their threads. What follows from it: producer_tasks.cc.
#include "weir/kinesis/producer.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/kinesis/producer_state.h"
#include "weir/runtime/await.h"

namespace weir::kinesis {
namespace {

tl::unexpected<Error> Closed() { return Fail(Code::kCancelled, "the producer is closed"); }

tl::unexpected<Error> Full() {
  return Fail(Code::kResourceExhausted,
              "the producer holds as many records as it may (max_outstanding_records, "
              "max_outstanding_bytes): put again when some have their results");
}

std::size_t SizeOf(std::int64_t number) { return static_cast<std::size_t>(number); }

Status CheckAddress(const StreamAddress& address) {
  if (address.name.empty() != address.arn.empty()) return {};
  return Fail(Code::kInvalidArgument, "a stream has a name or an ARN: give one of them");
}

}  // namespace

Producer::State::State(const ProducerParts& with, ProducerConfig as, std::uint64_t seed)
    : parts(with),
      config(std::move(as)),
      room({.max_records = SizeOf(config.max_outstanding_records),
            .max_bytes = SizeOf(config.max_outstanding_bytes)}),
      metrics(MetricsOf(config)),
      rng_(seed) {}

Result<Producer::Stream*> Producer::State::Open(const StreamAddress& address) {
  WEIR_RETURN_IF_ERROR(CheckAddress(address));
  const MutexLock lock(mutex);
  if (closed_) return Closed();
  std::unique_ptr<Stream>& stream = streams_[{address.name, address.arn}];
  if (stream == nullptr) {
    PipelineOptions options = config.Pipeline();
    options.sends_on_demand = true;
    if (parts.budget != nullptr) options.shared_budget.emplace();
    const std::string& name = address.name.empty() ? address.arn : address.name;
    stream = std::make_unique<Stream>(address, room.AddStream(), Pipeline(options, rng_.Next()),
                                      metrics.Stream(name), parts.log);
    parts.scheduler.Post([self = shared_from_this(), opened = stream.get()] {
      self->Follow(*opened, opened->pipeline.OnWake(self->Now()));
    });
  }
  return stream.get();
}

void Producer::State::PutIn(Stream& stream, Incoming incoming) {
  ++stats.records;
  stats.bytes += incoming.record.data.size();
  incoming.debt.epoch = epoch_;
  ++epochs_[epoch_];
  stream.inbox.push_back(std::move(incoming));
  if (stream.inbox.size() > 1) return;
  parts.scheduler.Post([self = shared_from_this(), &stream] { self->Receive(stream); });
}

Room::Tenant Producer::State::TenantOf(const Stream& stream, HashKey hash) const {
  return {.stream = stream.number, .shard = stream.shards->ShardOf(hash)};
}

Result<bool> Producer::State::PutIfRoom(Stream& stream, Incoming& incoming) {
  if (closed_) return Closed();
  incoming.debt.tenant = TenantOf(stream, incoming.record.hash);
  if (!room.Take(incoming.debt.tenant, {1, incoming.debt.bytes})) return false;
  PutIn(stream, std::move(incoming));
  return true;
}

Status Producer::State::TryPut(Stream& stream, Incoming incoming) {
  const MutexLock lock(mutex);
  WEIR_ASSIGN_OR_RETURN(const bool is_in, PutIfRoom(stream, incoming));
  if (!is_in) return Full();
  return {};
}

// Within a callback: what cannot be taken now cannot be waited for.
Status Producer::State::PutAtOnce(Stream& stream, Incoming incoming) {
  Status put = TryPut(stream, std::move(incoming));
  const bool is_full = !put && put.error().code == Code::kResourceExhausted;
  return is_full ? CheckMayBlock() : put;
}

Status Producer::State::CheckMayBlock() const {
  if (!CallbackScope::IsIn(parts.scheduler)) return {};
  return Fail(Code::kFailedPrecondition,
              "a call that waits was made within a callback of the producer, where it would wait "
              "for ever: use TryPut, or Flush and Close with a callback");
}

Status Producer::State::PutOrWait(Stream& stream, Incoming incoming) {
  if (CallbackScope::IsIn(parts.scheduler)) return PutAtOnce(stream, std::move(incoming));
  return Await<void>([&](Done<void> done) { PutWhenRoom(stream, incoming, std::move(done)); });
}

void Producer::State::PutWhenRoom(Stream& stream, Incoming& incoming, Done<void> done) {
  Result<bool> is_in;
  {
    const MutexLock lock(mutex);
    is_in = PutIfRoom(stream, incoming);
    if (is_in && !*is_in) return Queue({stream, incoming, {.done = std::move(done)}});
  }
  done(is_in ? Status() : Fail(std::move(is_in.error())));
}

void Producer::State::Queue(Putter putter) {
  const Debt& debt = putter.incoming.debt;
  const Room::Ticket ticket = room.Wait(debt.tenant, {1, debt.bytes});
  const Deadline end = Deadline::After(parts.scheduler.clock(), Saturated(config.put_timeout));
  if (config.put_timeout != milliseconds::max() && !end.is_never()) {
    putter.waiter.timer = parts.scheduler.At(
        end.at(), [self = shared_from_this(), ticket] { self->GiveUpWaiting(ticket); });
  }
  putters_.emplace(ticket, std::move(putter));
}

void Producer::State::GiveUpWaiting(Room::Ticket ticket) {
  Done<void> done;
  std::vector<Waiter> served;
  {
    const MutexLock lock(mutex);
    std::vector<Room::Ticket> tickets;
    if (!room.Leave(ticket, tickets)) return;
    done = std::move(putters_.extract(ticket).mapped().waiter.done);
    served = PutServed(tickets);
  }
  done(Full());
  for (Waiter& waiter : served) Tell(waiter);
}

bool Producer::State::IsThrough(std::uint64_t epoch) const {
  return epochs_.empty() || epochs_.begin()->first > epoch;
}

void Producer::State::Flush(Deadline deadline, Done<void> done) {
  if (IsClosed()) return done(Closed());
  AwaitResults(deadline, std::move(done));
}

bool Producer::State::IsClosed() const {
  const MutexLock lock(mutex);
  return closed_;
}

void Producer::State::AwaitResults(Deadline deadline, Done<void> done) {
  {
    const MutexLock lock(mutex);
    const std::uint64_t last = epoch_++;
    if (!IsThrough(last)) {
      const std::uint64_t id = next_flusher_++;
      Flusher& flusher = flushers_.emplace_back(id, last, Waiter{.done = std::move(done)});
      parts.scheduler.Post([self = shared_from_this()] { self->Hurry(); });
      if (deadline.is_never()) return;
      flusher.waiter.timer = parts.scheduler.At(
          deadline.at(), [self = shared_from_this(), id] { self->EndFlusher(id); });
      return;
    }
  }
  done({});
}

std::vector<Done<void>> Producer::State::Refused() {
  std::vector<Done<void>> refused;
  room.LeaveAll();
  for (auto& [ticket, putter] : std::exchange(putters_, {})) {
    refused.push_back(std::move(putter.waiter.done));
  }
  return refused;
}

void Producer::State::Close(Deadline deadline, Done<void> done) {
  std::vector<Done<void>> refused;
  {
    const MutexLock lock(mutex);
    closed_ = true;
    refused = Refused();
  }
  for (Done<void>& waiter : refused) waiter(Closed());
  auto cut_off = [self = shared_from_this(), done = std::move(done)](const Status&) mutable {
    self->parts.scheduler.Post([self, done = std::move(done)]() mutable {
      self->CutOff();
      const CallbackScope callbacks(self->parts.scheduler);
      done({});
    });
  };
  // Without time, nothing that could only be cut off is sent.
  if (deadline.ExpiredAt(Now())) return cut_off({});
  AwaitResults(deadline, std::move(cut_off));
}

Producer::Producer(const ProducerParts& parts, ProducerConfig config, std::uint64_t seed)
    : state_(std::make_shared<State>(parts, std::move(config), seed)) {}

Producer::~Producer() {
  if (state_->HasEnded()) return;
  Close(Deadline::At(state_->Now()));
  // What it waited for ends it, well or not.
  static_cast<void>(Await<void>([&](Done<void> done) { state_->WhenEnded(std::move(done)); }));
}

Result<Producer::Stream*> Producer::Open(const StreamAddress& address) {
  return state_->Open(address);
}

Status Producer::Put(Stream& stream, Record record, PutDone done) {
  if (state_->config.put_timeout == milliseconds(0)) {
    return TryPut(stream, std::move(record), std::move(done));
  }
  WEIR_ASSIGN_OR_RETURN(Incoming incoming, Receipt(state_->config, state_->parts.scheduler.clock(),
                                                   std::move(record), std::move(done)));
  return state_->PutOrWait(stream, std::move(incoming));
}

Status Producer::TryPut(Stream& stream, Record record, PutDone done) {
  WEIR_ASSIGN_OR_RETURN(Incoming incoming, Receipt(state_->config, state_->parts.scheduler.clock(),
                                                   std::move(record), std::move(done)));
  return state_->TryPut(stream, std::move(incoming));
}

Result<RecordResult> Producer::PutBlocking(Stream& stream, Record record) {
  WEIR_RETURN_IF_ERROR(state_->CheckMayBlock());
  Status put;
  auto result = Await<RecordResult>([&](Done<RecordResult> done) {
    put = Put(stream, std::move(record),
              [done = std::move(done)](RecordResult got) mutable { done(std::move(got)); });
  });
  WEIR_RETURN_IF_ERROR(put);
  return result;
}

Result<std::size_t> Producer::PutBatch(Stream& stream, std::vector<Record> records,
                                       const BatchDone& done) {
  const auto shared = std::make_shared<const BatchDone>(done);
  for (std::size_t place = 0; place < records.size(); ++place) {
    const Status put = Put(stream, std::move(records[place]),
                           [shared, place](RecordResult got) { (*shared)(place, std::move(got)); });
    if (!put && place == 0) return Fail(put.error());
    if (!put) return place;
  }
  return records.size();
}

void Producer::Flush(Deadline deadline, Done<void> done) {
  state_->Flush(deadline, std::move(done));
}

Status Producer::Flush(Deadline deadline) {
  WEIR_RETURN_IF_ERROR(state_->CheckMayBlock());
  return Await<void>([&](Done<void> done) { Flush(deadline, std::move(done)); });
}

void Producer::Close(Deadline deadline, Done<void> done) {
  state_->Close(deadline, std::move(done));
}

Status Producer::Close(Deadline deadline) {
  WEIR_RETURN_IF_ERROR(state_->CheckMayBlock());
  return Await<void>([&](Done<void> done) { Close(deadline, std::move(done)); });
}

ProducerStats Producer::stats() const { return state_->Stats(); }

const ProducerMetrics& Producer::metrics() const { return state_->metrics; }
ProducerMetrics& Producer::metrics() { return state_->metrics; }

std::size_t Producer::pending() const {
  const MutexLock lock(state_->mutex);
  return state_->room.used().records;
}

std::size_t Producer::pending_bytes() const {
  const MutexLock lock(state_->mutex);
  return state_->room.used().bytes;
}

}  // namespace weir::kinesis
