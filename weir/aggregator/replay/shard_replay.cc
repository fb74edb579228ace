#include "weir/aggregator/replay/shard_replay.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "weir/aggregator/daemon/lease_run.h"
#include "weir/aggregator/daemon/shard_queue.h"
#include "weir/aggregator/daemon/stream_log.h"
#include "weir/base/mutex.h"
#include "weir/dynamodb/streams/shard_reading.h"

namespace weir::dynamo {
namespace {

constexpr std::chrono::seconds kReplayRequestTime{10};

// A replay counts and archives, but neither refills nor divides buckets.
AggregatorOptions OptionsOfReplay(AggregatorOptions options, const DaemonParts& parts) {
  options.refills = options.divides = false;
  options.archives = options.archives && parts.archive != nullptr;
  return options;
}

}  // namespace

// All functions but Stop and stats run on the scheduler's thread.
class ShardReplay::State : public std::enable_shared_from_this<State> {
 public:
  State(const DaemonParts& parts, ReplayOptions options, std::uint64_t seed,
        std::function<void(const Status&)> ended)
      : parts_(parts),
        options_(std::move(options)),
        aggregator_(OptionsOfReplay(options_.aggregator, parts)),
        rng_(seed),
        ended_(std::move(ended)),
        divider_({parts.table, parts.scheduler, parts.log}, rng_.Next()),
        lease_(std::make_shared<LeaseRun>(LeaseRun::Parts{parts.table, parts.scheduler, parts.log},
                                          options_.lease)),
        queue_(std::make_shared<ShardQueue>(
            ShardQueue::Parts{parts.scheduler, parts.log, stats_, is_draining_},
            std::make_shared<BatchRun>(
                BatchRunParts{parts.table, parts.scheduler, parts.archive, divider_},
                AggregatorTerms{aggregator_, lease_->lease(), parts.log}, rng_.Next()),
            rng_.Next())),
        reading_(options_.range.shard, {ShardPosition::At::kAt, options_.range.from}, consumer_) {
    consumer_.stream_arn = options_.stream_arn;
  }

  void Start();
  void Stop() {
    parts_.scheduler.Post([self = shared_from_this()] {
      self->End(Fail(Code::kCancelled, "the replay was stopped; it may be repeated"));
    });
  }
  AggregateStats stats() const {
    const MutexLock lock(mutex_);
    return published_;
  }

 private:
  void OnLease();
  void OnShardLeases(const LeasesRead& leases);
  /// Delivers the next batch, or sends the next request, or waits until one is due.
  void Continue();
  void Send(ConsumerStep::Request request);
  void OnReply(const ShardReading::Response& response);
  void Deliver(ChangeBatch batch);
  void OnApplied(bool is_last);
  void Wait(Instant until);
  void End(Status status);
  /// Ends the replay because `from` is no record of the shard.
  void EndWithoutBeginning();
  void OnIdle();
  /// Runs `handle` on the scheduler's thread, unless the replay has ended.
  template <class Handle>
  auto Later(Handle handle);
  Moment Now() const {
    const Clock& clock = parts_.scheduler.clock();
    return {clock.Now(), clock.WallNow()};
  }

  const DaemonParts parts_;
  const ReplayOptions options_;
  const AggregatorOptions aggregator_;
  ConsumerOptions consumer_;
  Rng rng_;
  std::function<void(const Status&)> ended_;
  BucketDivider divider_;
  AggregateStats stats_;
  bool is_draining_ = false;
  const std::shared_ptr<LeaseRun> lease_;
  const std::shared_ptr<ShardQueue> queue_;
  ShardReading reading_;
  bool has_begun_ = false;
  bool has_seen_ = false;  ///< a record of the shard that is not earlier than `from`
  bool is_ending_ = false;
  std::size_t in_flight_ = 0;
  std::size_t working_ = 0;  ///< at the end: the queue, the lease and requests in flight
  std::optional<TimerId> timer_;
  Status end_;

  mutable Mutex mutex_;
  AggregateStats published_ WEIR_GUARDED_BY(mutex_);
};

template <class Handle>
auto ShardReplay::State::Later(Handle handle) {
  ++in_flight_;
  return [self = shared_from_this(), handle](auto result) {
    self->parts_.scheduler.Post([self, handle, result = std::move(result)] {
      --self->in_flight_;
      if (self->is_ending_) return self->OnIdle();
      handle(*self, result);
    });
  };
}

void ShardReplay::State::Start() {
  Status is_valid = CheckRange(options_.range);
  if (!is_valid) return End(std::move(is_valid));
  lease_->Start([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnLease();
  });
}

void ShardReplay::State::OnLease() {
  if (is_ending_) return;
  const AggregatorLease& lease = lease_->lease();
  if (lease.IsHeldAt(Now().now)) {
    if (std::exchange(has_begun_, true)) return;
    return parts_.shard_leases.ReadAll(
        Deadline::After(parts_.scheduler.clock(), kReplayRequestTime),
        Later([](State& state, const LeasesRead& leases) { state.OnShardLeases(leases); }));
  }
  const bool is_refused = lease.other_is_alive() && !options_.lease.takes_over;
  if (lease.other_owner().empty() || !(has_begun_ || is_refused)) return;
  End(Fail(Code::kFailedPrecondition,
           fmt::format("the usage of table {} is counted by '{}'; stop it first, or take over",
                       parts_.table.name(), lease.other_owner())));
}

void ShardReplay::State::OnShardLeases(const LeasesRead& leases) {
  if (!leases) return End(Fail(leases.error()));
  Status is_read = CheckRead(options_.range, *leases);
  if (!is_read) return End(std::move(is_read));
  Continue();
}

void ShardReplay::State::Continue() {
  if (is_ending_) return;
  if (reading_.is_ended()) return has_seen_ ? End({}) : EndWithoutBeginning();
  if (reading_.is_missing()) {
    return End(Fail(Code::kNotFound,
                    fmt::format("the service has removed shard {}", options_.range.shard)));
  }
  if (auto batch = reading_.TakeBatch()) return Deliver(*std::move(batch));
  const auto due = reading_.due();
  if (!due) return;
  if (*due > Now().now) return Wait(*due);
  Send(reading_.MakeRequest(Now()));
}

void ShardReplay::State::Wait(Instant until) {
  timer_ = parts_.scheduler.At(until, [self = shared_from_this()] {
    self->timer_.reset();
    self->Continue();
  });
}

void ShardReplay::State::Send(ConsumerStep::Request request) {
  auto done =
      Later([](State& state, const ShardReading::Response& response) { state.OnReply(response); });
  parts_.streams.Call(
      {std::move(request.operation), std::move(request.body), true},
      Deadline::After(parts_.scheduler.clock(), kReplayRequestTime),
      [done](tl::expected<JsonReply, AwsFailure> reply) {
        if (!reply) {
          return done(ShardReading::Response(tl::unexpected(std::move(reply.error()))));
        }
        done(ShardReading::Response(std::move(reply->body)));
      });
}

void ShardReplay::State::OnReply(const ShardReading::Response& response) {
  // ValidationException means that the shard has no record with the sequence number `from`, for
  // which OnResponse would begin at the trim horizon instead. Once the range was reached, `from`
  // exists.
  const bool is_refused = !response && response.error().code == "ValidationException";
  if (is_refused && !has_seen_) return EndWithoutBeginning();
  std::vector<ConsumerEvent> failing;
  Status handled = reading_.OnResponse(response, Now(), rng_, failing);
  for (const ConsumerEvent& event : failing) WriteEvent(parts_.log, event);
  if (!handled) return End(std::move(handled));
  Continue();
}

void ShardReplay::State::Deliver(ChangeBatch batch) {
  if (batch.gap) {
    return End(Fail(Code::kDataLoss,
                    fmt::format("records of shard {} from {} on have left the stream, which keeps "
                                "them for 24 hours; begin with a later one",
                                options_.range.shard, options_.range.from)));
  }
  has_seen_ |= HasRecordFrom(options_.range, batch);
  const bool is_last = Clip(options_.range, batch);
  queue_->AddBatch(std::move(batch), [self = shared_from_this(), is_last](bool) {
    self->parts_.scheduler.Post([self, is_last] { self->OnApplied(is_last); });
  });
}

void ShardReplay::State::OnApplied(bool is_last) {
  if (is_ending_) return;
  {
    const MutexLock lock(mutex_);
    published_ = stats_;
  }
  reading_.OnCompleted();
  if (is_last) return End({});
  Continue();
}

void ShardReplay::State::EndWithoutBeginning() {
  End(Fail(Code::kInvalidArgument,
           fmt::format("shard {} has no record {}", options_.range.shard, options_.range.from)));
}

void ShardReplay::State::End(Status status) {
  if (std::exchange(is_ending_, true)) return;
  end_ = std::move(status);
  if (timer_) parts_.scheduler.Cancel(*timer_);
  lease_->Stop();
  working_ = 2 + in_flight_;
  queue_->Stop([self = shared_from_this()] { self->OnIdle(); });
  lease_->WhenIdle([self = shared_from_this()] { self->OnIdle(); });
}

void ShardReplay::State::OnIdle() {
  if (--working_ > 0) return;
  parts_.scheduler.Post([self = shared_from_this()] {  // outside of the queue's functions
    std::exchange(self->ended_, nullptr)(self->end_);
  });
}

ShardReplay::ShardReplay(const DaemonParts& parts, ReplayOptions options, std::uint64_t seed,
                         std::function<void(const Status&)> ended)
    : state_(std::make_shared<State>(parts, std::move(options), seed, std::move(ended))) {
  parts.scheduler.Post([state = state_] { state->Start(); });
}

ShardReplay::~ShardReplay() = default;

void ShardReplay::Stop() { state_->Stop(); }

AggregateStats ShardReplay::stats() const { return state_->stats(); }

}  // namespace weir::dynamo
