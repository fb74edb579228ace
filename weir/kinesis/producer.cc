// The interface of the producer. Its implementation: producer_callers.cc.
#include "weir/kinesis/producer.h"

#include <utility>

#include "weir/kinesis/producer_state.h"
#include "weir/runtime/await.h"

namespace weir::kinesis {

Producer::Producer(const ProducerParts& parts, ProducerConfig config, std::uint64_t seed)
    : state_(std::make_shared<State>(parts, std::move(config), seed)) {}

Producer::~Producer() {
  if (state_->HasEnded()) return;
  Close(Deadline::At(state_->Now()));
  // The wait always succeeds: on_end_ is called without an error.
  static_cast<void>(Await<void>([&](Done<void> done) { state_->WhenEnded(std::move(done)); }));
}

Result<Producer::Stream*> Producer::Open(const StreamAddress& address) {
  return state_->Open(address);
}

Status Producer::Put(Stream& stream, Record record, PutDone done) {
  WEIR_ASSIGN_OR_RETURN(Incoming incoming,
                        MakeIncoming(state_->config, state_->parts.scheduler.clock(),
                                     std::move(record), std::move(done)));
  return state_->Put(stream, std::move(incoming));
}

Status Producer::TryPut(Stream& stream, Record record, PutDone done) {
  WEIR_ASSIGN_OR_RETURN(Incoming incoming,
                        MakeIncoming(state_->config, state_->parts.scheduler.clock(),
                                     std::move(record), std::move(done)));
  return state_->TryPut(stream, std::move(incoming));
}

Result<RecordResult> Producer::PutBlocking(Stream& stream, Record record) {
  WEIR_RETURN_IF_ERROR(state_->CheckMayAwaitResult());
  WEIR_ASSIGN_OR_RETURN(
      Incoming incoming,
      MakeIncoming(state_->config, state_->parts.scheduler.clock(), std::move(record), nullptr));
  incoming.pending.is_awaited = true;
  Status put;
  auto result = Await<RecordResult>([&](Done<RecordResult> done) {
    incoming.pending.done = [done = std::move(done)](RecordResult got) mutable {
      done(std::move(got));
    };
    put = state_->Put(stream, std::move(incoming));
  });
  WEIR_RETURN_IF_ERROR(put);
  return result;
}

Result<std::size_t> Producer::PutBatch(Stream& stream, std::vector<Record> records,
                                       const BatchDone& done) {
  const auto shared = std::make_shared<const BatchDone>(done);
  for (std::size_t index = 0; index < records.size(); ++index) {
    const Status put = Put(stream, std::move(records[index]),
                           [shared, index](RecordResult got) { (*shared)(index, std::move(got)); });
    if (!put && index == 0) return Fail(put.error());
    if (!put) return index;
  }
  return records.size();
}

void Producer::Flush(Stream& stream, Deadline deadline, Done<void> done) {
  state_->Flush({&stream}, deadline, std::move(done));
}

void Producer::Flush(Deadline deadline, Done<void> done) {
  state_->Flush(state_->Streams(), deadline, std::move(done));
}

Status Producer::Flush(Stream& stream, Deadline deadline) {
  WEIR_RETURN_IF_ERROR(state_->CheckMayBlock());
  return Await<void>([&](Done<void> done) { Flush(stream, deadline, std::move(done)); });
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

nanoseconds Producer::oldest_age() const { return state_->OldestAge(); }

std::size_t Producer::pending() const {
  const MutexLock lock(state_->mutex);
  return state_->buffer_quota.used().records;
}

std::size_t Producer::pending_bytes() const {
  const MutexLock lock(state_->mutex);
  return state_->buffer_quota.used().bytes;
}

}  // namespace weir::kinesis
