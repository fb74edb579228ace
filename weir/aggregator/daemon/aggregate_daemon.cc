#include "weir/aggregator/daemon/aggregate_daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "weir/aggregator/daemon/lease_run.h"
#include "weir/aggregator/daemon/shard_queue.h"
#include "weir/aggregator/daemon/stream_log.h"
#include "weir/base/mutex.h"
#include "weir/dynamodb/streams/stream_run.h"

namespace weir::dynamo {
namespace {

/// Idle queues beyond this number are removed.
constexpr std::size_t kMaxQueues = 256;

AggregatorOptions WithArchive(AggregatorOptions options, const DaemonParts& parts) {
  options.archives = options.archives && parts.archive != nullptr;
  return options;
}

}  // namespace

// All functions but Drain, Stop and stats run on the scheduler's thread.
class AggregateDaemon::State : public std::enable_shared_from_this<State> {
 public:
  State(const DaemonParts& parts, DaemonOptions options, std::uint64_t seed,
        std::function<void(const Status&)> ended)
      : parts_(parts),
        options_(WithArchive(std::move(options.aggregator), parts)),
        consumer_(std::move(options.consumer)),
        takes_over_(options.lease.takes_over),
        rng_(seed),
        ended_(std::move(ended)),
        divider_({parts.table, parts.scheduler, parts.log}, rng_.Next()),
        lease_(std::make_shared<LeaseRun>(LeaseRun::Parts{parts.table, parts.scheduler, parts.log},
                                          std::move(options.lease))) {}

  void Start() {
    lease_->Start([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->OnLease();
    });
  }
  void Drain();
  void Stop();
  AggregateStats stats() const {
    const MutexLock lock(mutex_);
    return published_;
  }

 private:
  /// Begins to read when the lease is held; ends if another owner holds it.
  void OnLease();
  void StartReading();
  /// Ends the reading: another aggregator counts the usage now.
  void OnTakenOver(const std::string& owner);
  void OnEvent(const ConsumerEvent& event);
  ShardQueue& QueueOf(const std::string& shard);
  /// Stops all work, and reports the end when no request is in flight.
  void End(Status status);
  void OnIdle();
  /// Publishes after the event that is handled now.
  void PublishSoon() {
    parts_.scheduler.Post([self = shared_from_this()] { self->Publish(); });
  }
  /// Makes the counters and the state visible to other threads.
  void Publish();

  const DaemonParts parts_;
  const AggregatorOptions options_;
  const ConsumerOptions consumer_;
  const bool takes_over_;
  Rng rng_;
  std::function<void(const Status&)> ended_;
  BucketDivider divider_;
  const std::shared_ptr<LeaseRun> lease_;
  std::unique_ptr<StreamRun> reading_;
  std::map<std::string, std::shared_ptr<ShardQueue>, std::less<>> queues_;
  bool is_draining_ = false;
  bool is_ending_ = false;
  std::optional<Error> taken_over_;
  Status end_;
  std::size_t working_ = 0;  ///< at the end: queues, and the lease, that are not idle yet
  AggregateStats stats_;

  mutable Mutex mutex_;
  AggregateStats published_ WEIR_GUARDED_BY(mutex_);
};

void AggregateDaemon::State::OnLease() {
  const AggregatorLease& lease = lease_->lease();
  const bool is_held = lease.IsHeldAt(parts_.scheduler.clock().Now());
  Publish();
  if (is_ending_ || is_draining_) return;
  if (is_held && reading_ == nullptr) return StartReading();
  if (is_held || lease.other_owner().empty()) return;
  if (reading_ != nullptr) return OnTakenOver(lease.other_owner());
  // If the other owner does not renew its lease, `lease_` claims it when it has run out.
  if (takes_over_ || !lease.other_is_alive()) return;
  End(Fail(Code::kFailedPrecondition,
           fmt::format("the usage of table {} is counted by '{}'; stop it first, or take over",
                       parts_.table.name(), lease.other_owner())));
}

void AggregateDaemon::State::OnTakenOver(const std::string& owner) {
  taken_over_ = Error{Code::kAborted, fmt::format("'{}' has taken over the usage of table {}",
                                                  owner, parts_.table.name())};
  is_draining_ = true;
  lease_->Stop();  // the lease must not be claimed again while the reading ends
  reading_->Drain();
}

void AggregateDaemon::State::StartReading() {
  StreamHandlers handlers;
  handlers.batch = [self = shared_from_this()](ChangeBatch batch,
                                               std::function<void(bool)> completed) {
    const std::string shard = batch.shard;
    self->QueueOf(shard).AddBatch(std::move(batch),
                                  [self, completed = std::move(completed)](bool is_applied) {
                                    completed(is_applied);
                                    self->PublishSoon();
                                  });
    self->Publish();
  };
  handlers.event = [self = shared_from_this()](const ConsumerEvent& event) {
    self->OnEvent(event);
  };
  handlers.ended = [self = shared_from_this()](const Status& status) { self->End(status); };
  reading_ = std::make_unique<StreamRun>(
      StreamParts{parts_.streams, parts_.scheduler, parts_.shard_leases}, std::move(handlers),
      consumer_, rng_.Next());
  if (is_draining_) reading_->Drain();
}

void AggregateDaemon::State::OnEvent(const ConsumerEvent& event) {
  if (std::holds_alternative<RequestsFailing>(event)) ++stats_.request_failures;
  WriteEvent(parts_.log, event);
  Publish();
}

void AggregateDaemon::State::Publish() {
  stats_.divisions_dropped = divider_.dropped();
  stats_.lease_held_until = lease_->lease().held_until();
  const StreamState reading = reading_ == nullptr ? StreamState{} : reading_->state();
  stats_.shards = reading.shards;
  stats_.damaged_leases = reading.damaged_leases;
  stats_.oldest_waiting.reset();
  for (const auto& [shard, queue] : queues_) {
    const auto oldest = queue->oldest_waiting();
    if (oldest) stats_.oldest_waiting = std::min(*oldest, stats_.oldest_waiting.value_or(*oldest));
  }
  const MutexLock lock(mutex_);
  published_ = stats_;
}

ShardQueue& AggregateDaemon::State::QueueOf(const std::string& shard) {
  const auto found = queues_.find(shard);
  if (found != queues_.end()) return *found->second;
  if (queues_.size() >= kMaxQueues) {
    std::erase_if(queues_, [](const auto& entry) { return entry.second->is_idle(); });
  }
  const AggregatorTerms terms{options_, lease_->lease(), parts_.log};
  auto run = std::make_shared<BatchRun>(
      BatchRunParts{parts_.table, parts_.scheduler, parts_.archive, divider_}, terms, rng_.Next());
  return *queues_
              .emplace(shard,
                       std::make_shared<ShardQueue>(
                           ShardQueue::Parts{parts_.scheduler, parts_.log, stats_, is_draining_},
                           std::move(run), rng_.Next()))
              .first->second;
}

void AggregateDaemon::State::Drain() {
  parts_.scheduler.Post([self = shared_from_this()] {
    self->is_draining_ = true;
    if (self->reading_ != nullptr) return self->reading_->Drain();
    self->End({});
  });
}

void AggregateDaemon::State::Stop() {
  parts_.scheduler.Post([self = shared_from_this()] {
    self->is_draining_ = true;
    if (self->reading_ == nullptr) return self->End(Fail(Code::kCancelled, "stopped"));
    // Not only in End: batches would send requests until the last request of the reading ended.
    for (const auto& [shard, queue] : self->queues_) queue->Stop([] {});
    self->reading_->Stop();
  });
}

void AggregateDaemon::State::End(Status status) {
  if (std::exchange(is_ending_, true)) return;
  end_ = taken_over_ ? Status(Fail(*taken_over_)) : std::move(status);
  lease_->Stop();
  working_ = queues_.size() + 1;
  for (const auto& [shard, queue] : queues_) {
    queue->Stop([self = shared_from_this()] { self->OnIdle(); });
  }
  lease_->WhenIdle([self = shared_from_this()] { self->OnIdle(); });
}

void AggregateDaemon::State::OnIdle() {
  if (--working_ > 0) return;
  Publish();
  parts_.scheduler.Post([self = shared_from_this()] {  // outside of the queues' functions
    self->queues_.clear();
    self->reading_.reset();
    std::exchange(self->ended_, nullptr)(self->end_);
  });
}

AggregateDaemon::AggregateDaemon(const DaemonParts& parts, DaemonOptions options,
                                 std::uint64_t seed, std::function<void(const Status&)> ended)
    : state_(std::make_shared<State>(parts, std::move(options), seed, std::move(ended))) {
  parts.scheduler.Post([state = state_] { state->Start(); });
}

AggregateDaemon::~AggregateDaemon() = default;

void AggregateDaemon::Drain() { state_->Drain(); }

void AggregateDaemon::Stop() { state_->Stop(); }

AggregateStats AggregateDaemon::stats() const { return state_->stats(); }

}  // namespace weir::dynamo
