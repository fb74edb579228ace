#include "weir/aggregator/daemon/batch_run.h"

#include <utility>

namespace weir::dynamo {
namespace {

constexpr std::chrono::seconds kRequestTime{10};

}  // namespace

BatchRun::BatchRun(const BatchRunParts& parts, const AggregatorTerms& terms, std::uint64_t seed)
    : parts_(parts), aggregator_(terms, seed) {}

void BatchRun::Start(const RecordBatch& batch, Ended ended) {
  ended_ = std::move(ended);
  CarryOut(aggregator_.Start(batch, Now()));
}

void BatchRun::StartGap(const UsageGap& gap, Deadline deadline, Ended ended) {
  ended_ = std::move(ended);
  CarryOut(aggregator_.StartGap(gap, deadline, Now()));
}

void BatchRun::CarryOut(AggregatorStep step) {
  const auto self = shared_from_this();  // `ended_` may drop the last reference
  for (const Division& division : step.divisions) parts_.divider.Divide(division);
  for (AggregatorRequest& request : step.requests) Send(std::move(request));
  SetTimer();
  if (step.done) std::exchange(ended_, nullptr)(*step.done);
}

template <class T, class Handle>
auto BatchRun::OnScheduler(Handle handle) {
  return [self = shared_from_this(), handle = std::move(handle)](T result) mutable {
    self->parts_.scheduler.Post([self, handle, result = std::move(result)]() mutable {
      --self->in_flight_;
      if (self->is_stopped_) return self->ReportIdle();
      self->CarryOut(handle(self->aggregator_, std::move(result), self->Now()));
    });
  };
}

void BatchRun::Stop(std::function<void()> idle) {
  if (timer_) parts_.scheduler.Cancel(*timer_);
  timer_.reset();
  ended_ = nullptr;
  is_stopped_ = true;
  idle_ = std::move(idle);
  ReportIdle();
}

void BatchRun::ReportIdle() {
  if (in_flight_ == 0 && idle_) std::exchange(idle_, nullptr)();
}

void BatchRun::Send(AggregatorRequest request) {
  ++in_flight_;
  const Deadline deadline = Deadline::After(parts_.scheduler.clock(), kRequestTime);
  if (auto* object = std::get_if<ArchiveObject>(&request.body)) {
    return parts_.archive->Put(
        std::move(*object), deadline,
        OnScheduler<Status>(
            [id = request.id](Aggregator& aggregator, Status outcome, const ProtocolTime& moment) {
              return aggregator.OnArchived(id, std::move(outcome), moment);
            }));
  }
  using Outcome = tl::expected<WriteResponse, WriteFailure>;
  parts_.table.Apply(std::get<Write>(request.body), /*repeatable=*/false, deadline,
                     OnScheduler<Outcome>([id = request.id](Aggregator& aggregator, Outcome outcome,
                                                            const ProtocolTime& moment) {
                       return aggregator.OnWrite(id, std::move(outcome), moment);
                     }));
}

void BatchRun::SetTimer() {
  if (timer_) parts_.scheduler.Cancel(*timer_);
  timer_.reset();
  const Instant wake = aggregator_.wake();
  if (wake.nanos == INT64_MAX) return;
  timer_ = parts_.scheduler.At(wake, [self = shared_from_this()] {
    self->timer_.reset();
    if (self->is_stopped_) return;
    self->CarryOut(self->aggregator_.OnTime(self->Now()));
  });
}

}  // namespace weir::dynamo
