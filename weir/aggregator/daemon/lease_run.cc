#include "weir/aggregator/daemon/lease_run.h"

#include <utility>

namespace weir::dynamo {

LeaseRun::LeaseRun(const Parts& parts, LeaseOptions options)
    : parts_(parts), lease_(std::move(options), parts.log) {}

template <class T, class Handle>
auto LeaseRun::OnScheduler(Handle handle) {
  return [self = shared_from_this(), handle = std::move(handle)](T result) mutable {
    self->parts_.scheduler.Post([self, handle, result = std::move(result)]() mutable {
      --self->in_flight_;
      self->Continue(handle(self->lease_, std::move(result), self->Now()));
    });
  };
}

void LeaseRun::Start(std::function<void()> changed) {
  changed_ = std::move(changed);
  Continue(lease_.Start(Now()));
}

void LeaseRun::Stop() {
  is_stopped_ = true;
  lease_.Stop();
  SetTimer();
}

void LeaseRun::WhenIdle(std::function<void()> idle) {
  idle_ = std::move(idle);
  Continue(std::nullopt);
}

void LeaseRun::CarryOut(AggregatorLease::Request request) {
  ++in_flight_;
  const Deadline deadline = Deadline::At(lease_.RequestDeadline(Now()));
  if (auto* write = std::get_if<Write>(&*request)) {
    using Outcome = tl::expected<WriteResponse, WriteFailure>;
    return parts_.table.Apply(
        *write, /*repeatable=*/false, deadline,
        OnScheduler<Outcome>([](AggregatorLease& lease, Outcome outcome, Instant now) {
          return lease.OnWrite(std::move(outcome), now);
        }));
  }
  using Found = Result<std::optional<Item>>;
  parts_.table.Get(LeaseKey(), deadline,
                   OnScheduler<Found>([](AggregatorLease& lease, Found item, Instant now) {
                     return lease.OnRead(std::move(item), now);
                   }));
}

void LeaseRun::Continue(AggregatorLease::Request request) {
  if (request) CarryOut(std::move(request));
  if (idle_ && in_flight_ == 0) return std::exchange(idle_, nullptr)();
  SetTimer();
  if (!is_stopped_) changed_();
}

void LeaseRun::SetTimer() {
  if (timer_) parts_.scheduler.Cancel(*timer_);
  timer_.reset();
  if (is_stopped_ || lease_.wake().nanos == INT64_MAX) return;
  timer_ = parts_.scheduler.At(lease_.wake(), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr || self->is_stopped_) return;
    self->timer_.reset();
    self->Continue(self->lease_.OnTime(self->Now()));
  });
}

}  // namespace weir::dynamo
