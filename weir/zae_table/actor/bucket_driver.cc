#include "weir/zae_table/actor/bucket_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "weir/base/rng.h"
#include "weir/store/bucket/stored_ahead.h"
#include "weir/zae_table/actor/callback_turn.h"

namespace weir::dynamo {
namespace {

// The timeout of a request. It does not depend on the deadlines of callers: timers enforce these,
// and the actor needs the outcome of the request anyway.
constexpr nanoseconds kRequestTime = std::chrono::seconds(5);

// The items that are read for each bucket: its own, its owner's record, and the item of shard 1,
// which may exist although shard 0 is missing.
constexpr std::size_t kReadsOfBucket = 3;

std::function<std::uint64_t()> Random(const BucketStoreOptions& options) {
  if (options.random) return options.random;
  return [rng = Rng(options.seed)]() mutable { return rng.Next(); };
}

ActorTerms TermsOf(const Table& table, const Keys& keys, const BucketStoreOptions& options,
                   const std::function<std::uint64_t()>& draw) {
  return {.keys = keys,
          .writes = WriteQuota(options.write_capacity),
          .refusal_age = std::clamp(options.refusal_age, milliseconds(0), kLongestRefusalAge),
          .repair_rest = options.repair_rest,
          .instance = draw() >> 16,
          .draw = draw,
          .is_time_confirmed = [&table] { return table.ConfirmedNow().has_value(); },
          .observe_plan = options.observe_plan};
}

}  // namespace

BucketDriver::BucketDriver(Table& table, const Keys& keys, Scheduler& scheduler,
                           const BucketStoreOptions& options)
    : table_(table),
      keys_(keys),
      scheduler_(scheduler),
      log_(options.log == nullptr ? NoLog() : *options.log),
      shard_work_(std::make_shared<ShardSplitter>(
          ShardSplitter::Parts{table_, keys_, scheduler_, *this, log_}, ~options.seed)),
      draw_(Random(options)),
      protocol_(TermsOf(table_, keys_, options, draw_), options.remembered_images) {}

ProtocolTime BucketDriver::Now() const {
  const Instant now = scheduler_.clock().Now();
  return {.at = now, .bucket_time = table_.Now(), .round_trip = round_trips_.Median(now)};
}

// The steps of one driver that a thread still has to carry out. Table may complete a
// request on this thread before it returns: the event then runs within CarryOut of an earlier step,
// and its own step is appended. So the depth of the stack does not depend on the number of such
// requests. A request of one driver may complete a request of another driver, so each driver has a
// queue of its own.
class BucketDriver::StepQueue {
 public:
  explicit StepQueue(const BucketDriver& driver) : driver_(driver), outer_(of_thread) {
    of_thread = this;
  }
  ~StepQueue() { of_thread = outer_; }
  StepQueue(const StepQueue&) = delete;
  StepQueue& operator=(const StepQueue&) = delete;

  /// Returns the queue of the driver if this thread carries out its steps; null otherwise.
  static StepQueue* Of(const BucketDriver& driver) {
    StepQueue* queue = of_thread;
    while (queue != nullptr && &queue->driver_ != &driver) queue = queue->outer_;
    return queue;
  }

  struct Entry {
    Step step;
    bool may_close;
  };
  std::vector<Entry> steps{};

 private:
  static constinit thread_local StepQueue* of_thread;

  const BucketDriver& driver_;
  StepQueue* const outer_;
};

constinit thread_local BucketDriver::StepQueue* BucketDriver::StepQueue::of_thread = nullptr;

// DeferredCallbacks delays all callbacks until `inside_` counts no event of this thread: a callback
// may destroy the store, and Stop waits for `inside_` to become 0. `self` keeps the driver alive
// until then.
template <class Event>
bool BucketDriver::Process(Event event, bool begins) {
  const std::shared_ptr<BucketDriver> self = shared_from_this();
  const DeferredCallbacks deferred;
  Step step;
  bool may_close = false;
  {
    const MutexLock lock(mutex_);
    if (is_stopped_ || (begins && is_closed_)) return false;
    ++inside_;
    event(protocol_, Now(), step);
    SetAlarm();
    requests_ += static_cast<int>(step.sends.size() + step.shard_requests.size()) +
                 (step.reads.empty() ? 0 : 1);
    running_callbacks_ += static_cast<int>(step.completions.size());
    may_close = MayClose();
  }
  if (StepQueue* const queue = StepQueue::Of(*this)) {
    queue->steps.push_back({std::move(step), may_close});
    return true;
  }
  StepQueue queue(*this);
  Finish(step, may_close);
  for (std::size_t i = 0; i < queue.steps.size(); ++i) {
    // Finish may append others, which moves the entries.
    StepQueue::Entry next = std::move(queue.steps[i]);
    Finish(next.step, next.may_close);
  }
  return true;
}

void BucketDriver::Finish(Step& step, bool may_close) {
  CarryOut(step);
  {
    const MutexLock lock(mutex_);
    --inside_;
    changed_.notify_all();
  }
  RunCallbacks(std::move(step.completions));
  if (may_close) EndCloses();
}

void BucketDriver::Start(CallRequest request, Done<Decision> done) {
  const auto begin = [&](BucketProtocol& protocol, const ProtocolTime& moment, Step& step) {
    request.began_at = moment.at;
    protocol.Start(std::move(request), std::move(done), moment, step);
  };
  if (!Process(begin, /*begins=*/true)) done(Fail(Code::kUnavailable, "the backend is closed"));
}

// Stores the limits in all known shards. If the images show afterwards that the bucket has more,
// the call is repeated with the new number.
void BucketDriver::Conform(TargetPtr target, Deadline deadline, Done<void> done) {
  const std::uint32_t known = std::max<std::uint32_t>(ShardsOf(target->key), 1);
  CallRequest request{.kind = CallRequest::Kind::kConform,
                      .charges = {{target, std::vector<std::int64_t>(target->limits.size())}},
                      .now = table_.Now(),
                      .began_at = {},
                      .deadline = deadline};
  request.charges.front().shard = kSpread | known;
  Start(std::move(request), [self = shared_from_this(), target, known, deadline,
                             done = std::move(done)](Result<Decision> decision) mutable {
    if (!decision) return done(Fail(std::move(decision.error())));
    if (self->ShardsOf(target->key) <= known) return done({});
    self->Conform(std::move(target), deadline, std::move(done));
  });
}

// A callback that destroys the store runs when `inside_` no longer counts its event, so Stop does
// not wait for its own thread.
void BucketDriver::Stop() {
  shard_work_->Stop();
  mutex_.lock();
  is_stopped_ = true;
  while (inside_ > 0) changed_.wait(mutex_);
  if (alarm_at_ != kNoTime) scheduler_.Cancel(alarm_);
  mutex_.unlock();
}

void BucketDriver::EndRequest() {
  const MutexLock lock(mutex_);
  --requests_;
  changed_.notify_all();
}

void BucketDriver::AwaitRequests() {
  mutex_.lock();
  while (requests_ > 0) changed_.wait(mutex_);
  mutex_.unlock();
}

void BucketDriver::Close(Deadline deadline, Done<void> done) {
  {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    const PendingCloses::Id id = closes_.Add(std::move(done));
    if (!deadline.is_never()) {
      closes_.SetTimer(id, scheduler_.At(deadline.at(), [weak = weak_from_this(), id] {
        if (const auto self = weak.lock()) self->OnCloseDeadline(id);
      }));
    }
  }
  // If the store is idle, this event completes the Close.
  Process([](BucketProtocol&, const ProtocolTime&, Step&) {});
}

bool BucketDriver::MayClose() const {
  return !closes_.is_empty() && running_callbacks_ == 0 && protocol_.is_idle();
}

void BucketDriver::OnCallbackReturned() {
  bool may_close = false;
  {
    const MutexLock lock(mutex_);
    --running_callbacks_;
    may_close = MayClose();
  }
  if (may_close) EndCloses();
}

void BucketDriver::EndCloses() {
  std::vector<PendingCloses::Entry> ended;
  {
    const MutexLock lock(mutex_);
    ended = closes_.RemoveAll();
  }
  std::vector<Task> tasks;
  for (PendingCloses::Entry& close : ended) {
    if (close.timer) scheduler_.Cancel(*close.timer);
    tasks.emplace_back([done = std::move(close.done)]() mutable { done({}); });
  }
  RunInTurn(std::move(tasks), scheduler_);
}

void BucketDriver::OnCloseDeadline(PendingCloses::Id id) {
  std::optional<PendingCloses::Entry> late = [&] {
    const MutexLock lock(mutex_);
    return closes_.Remove(id);
  }();
  if (!late) return;
  std::vector<Task> tasks;
  tasks.emplace_back([done = std::move(late->done)]() mutable {
    done(Fail(Code::kDeadlineExceeded,
              "calls or writes have not ended yet; tokens that such writes take stay taken"));
  });
  RunInTurn(std::move(tasks), scheduler_);
}

// There is one timer. It is set again only if the protocol needs an earlier time: most of the
// writes that it is set for complete before it fires, and a timer that fires too early does no
// harm.
void BucketDriver::SetAlarm() {
  const std::optional<Instant> wake = protocol_.wake();
  if (!wake || *wake >= alarm_at_) return;
  if (alarm_at_ != kNoTime) scheduler_.Cancel(alarm_);
  alarm_at_ = *wake;
  alarm_ = scheduler_.At(alarm_at_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnAlarm();
  });
}

void BucketDriver::OnAlarm() {
  {
    const MutexLock lock(mutex_);
    alarm_at_ = kNoTime;
  }
  Process([](BucketProtocol& protocol, const ProtocolTime& moment, Step& step) {
    protocol.OnTime(moment, step);
  });
}

void BucketDriver::CarryOut(Step& step) {
  for (Step::Send& send : step.sends) Send(std::move(send));
  if (!step.reads.empty()) Read(std::move(step.reads));
  for (const Step::ShardRequest& request : step.shard_requests) CreateShards(request);
  for (const BucketImage& image : step.divides) shard_work_->Double(image);
  AheadReport report(&log_);
  for (const Step::SetBack& each : step.set_back) report.Add(each.bucket, each.ahead);
}

void BucketDriver::Send(Step::Send send) {
  const Instant sent = scheduler_.clock().Now();
  auto done = [self = shared_from_this(), key = std::move(send.key), id = send.write.write,
               sent](tl::expected<WriteResponse, WriteFailure> outcome) {
    const Instant now = self->scheduler_.clock().Now();
    // Throttled and lost writes show nothing about the usual round trip.
    const bool was_judged = outcome || outcome.error().kind == FailureClass::kConditional;
    if (was_judged) self->round_trips_.Add(now - sent, now);
    self->Process([&](BucketProtocol& protocol, const ProtocolTime& moment, Step& step) {
      protocol.OnWrite(key, id, std::move(outcome), moment, step);
    });
    self->EndRequest();
  };
  const Deadline deadline = Deadline::At(sent + kRequestTime);
  const std::vector<Write>& writes = send.write.writes;
  if (writes.size() == 1) {
    return table_.Apply(writes.front(), /*repeatable=*/false, deadline, std::move(done));
  }
  table_.Transact(writes, send.write.token, deadline, std::move(done));
}

void BucketDriver::Read(std::vector<BucketKey> keys) {
  std::vector<TableKey> reads;
  for (const BucketKey& key : keys) {
    reads.push_back(keys_.Bucket(key));
    reads.push_back(keys_.Entity(key.entity));
    reads.push_back(
        keys_.Bucket({key.entity, key.resource, std::max<std::uint32_t>(key.shard, 1)}));
  }
  table_.BatchGet(std::move(reads), Deadline::After(scheduler_.clock(), kRequestTime),
                  [self = shared_from_this(), keys = std::move(keys)](auto items) {
                    self->OnRead(keys, std::move(items));
                    self->EndRequest();
                  });
}

void BucketDriver::OnRead(const std::vector<BucketKey>& keys,
                          Result<std::vector<std::optional<Item>>> items) {
  Process([&](BucketProtocol& protocol, const ProtocolTime& moment, Step& step) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!items) {
        protocol.OnRead(keys[i], Fail(items.error()), moment, step);
        continue;
      }
      auto* const read = &(*items)[kReadsOfBucket * i];
      const bool divided = read[2] && GetNumber(*read[2], "shard_count").value_or(1) > 1;
      protocol.OnRead(keys[i], BucketItems{std::move(read[0]), ReadOwner(read[1]), divided}, moment,
                      step);
    }
  });
}

void BucketDriver::CreateShards(const Step::ShardRequest& request) {
  auto done = [self = shared_from_this(),
               bucket = request.bucket](const Result<std::uint32_t>& shards) {
    self->Process([&](BucketProtocol& protocol, const ProtocolTime& moment, Step& step) {
      protocol.OnShardsCreated(bucket, shards, moment, step);
    });
    self->EndRequest();
  };
  const Deadline deadline = Deadline::After(scheduler_.clock(), kRequestTime);
  shard_work_->Complete(request.bucket, request.now, deadline, std::move(done));
}

void BucketDriver::ReportIfDamaged(const Error& error) {
  if (error.code != Code::kDataLoss) return;
  const std::optional<std::int64_t> suppressed = damaged_.ShouldWrite(scheduler_.clock().Now());
  if (!suppressed) return;
  const std::array<LogField, 2> fields = {LogField{"message", std::string_view(error.message)},
                                          {"suppressed", *suppressed}};
  log_.Write(LogLevel::kWarning, "bucket.damaged", fields);
}

void BucketDriver::RunCallbacks(std::vector<Step::Completion> completions) {
  std::vector<Task> tasks;
  tasks.reserve(completions.size());
  for (Step::Completion& result : completions) {
    if (!result.result) ReportIfDamaged(result.result.error());
    tasks.emplace_back([self = shared_from_this(), result = std::move(result)]() mutable {
      result.done(std::move(result.result));
      self->OnCallbackReturned();
    });
  }
  RunInTurn(std::move(tasks), scheduler_);
}

void BucketDriver::Learn(BucketImage image) {
  const MutexLock lock(mutex_);
  if (!is_stopped_) protocol_.Learn(std::move(image), Now());
}

void BucketDriver::Forget(const BucketKey& key) {
  const MutexLock lock(mutex_);
  protocol_.Forget(key);
}

std::uint32_t BucketDriver::ShardsOf(const BucketKey& key) {
  const MutexLock lock(mutex_);
  return protocol_.ShardsOf(key);
}

void BucketDriver::ForgetEntity(std::string_view entity) {
  const MutexLock lock(mutex_);
  protocol_.ForgetEntity(entity);
}

std::optional<BucketImage> BucketDriver::FindSince(const BucketKey& key, Instant since) {
  const MutexLock lock(mutex_);
  const SeenBucket* seen = protocol_.Find(key);
  if (seen == nullptr || seen->image() == nullptr || seen->seen_at() < since) return std::nullopt;
  return *seen->image();
}

std::int64_t BucketDriver::forfeits() {
  const MutexLock lock(mutex_);
  return protocol_.forfeits();
}

}  // namespace weir::dynamo
