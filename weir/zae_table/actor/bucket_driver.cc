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

// The timeout of a request. It does not depend on the deadlines of callers: timers keep these, and
// the actor needs the outcome anyway.
constexpr nanoseconds kRequestTime = std::chrono::seconds(5);

// The items that are read of each bucket: its own, its owner's record, and that of shard 1, which
// may exist although shard 0 is missing.
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

DynamoBucketStore::Driver::Driver(Table& table, const Keys& keys, Scheduler& scheduler,
                                  const BucketStoreOptions& options)
    : table_(table),
      keys_(keys),
      scheduler_(scheduler),
      log_(options.log == nullptr ? NoLog() : *options.log),
      shard_work_(std::make_shared<ShardSplitter>(
          ShardSplitter::Parts{table_, keys_, scheduler_, *this, log_}, ~options.seed)),
      draw_(Random(options)),
      protocol_(TermsOf(table_, keys_, options, draw_), options.remembered_images) {}

Moment DynamoBucketStore::Driver::Now() const {
  const Instant now = scheduler_.clock().Now();
  return {.at = now, .bucket_time = table_.Now(), .round_trip = round_trips_.Median(now)};
}

// A request may complete before Table returns, on this thread: its event then runs within Do of
// this one. HeldTurn delays the callbacks of all of these events until the outermost one has left
// `inside_`, because a callback may destroy the store, and Stop waits for `inside_` to become 0.
// `self` keeps the driver alive until then.
template <class Event>
bool DynamoBucketStore::Driver::On(Event event, bool begins) {
  const std::shared_ptr<Driver> self = shared_from_this();
  const HeldTurn held;
  Step step;
  bool has_ended = false;
  {
    const MutexLock lock(mutex_);
    if (is_stopped_ || (begins && is_closed_)) return false;
    ++inside_;
    event(protocol_, Now(), step);
    SetAlarm();
    requests_ += static_cast<int>(step.sends.size() + step.completions.size()) +
                 (step.reads.empty() ? 0 : 1);
    answers_ += static_cast<int>(step.answers.size());
    has_ended = HasEnded();
  }
  Do(step);
  {
    const MutexLock lock(mutex_);
    --inside_;
    left_.notify_all();
  }
  Answer(std::move(step.answers));
  if (has_ended) EndClose({});
  return true;
}

void DynamoBucketStore::Driver::Start(CallRequest request, Done<Decision> done) {
  const auto begin = [&](BucketProtocol& protocol, const Moment& moment, Step& step) {
    request.came = moment.at;
    protocol.Start(std::move(request), std::move(done), moment, step);
  };
  if (!On(begin, /*begins=*/true)) done(Fail(Code::kUnavailable, "the backend is closed"));
}

// Conforms as many shards as are known. If the images show afterwards that the bucket has more, the
// call is repeated for that number.
void DynamoBucketStore::Driver::Conform(TargetPtr target, Deadline deadline, Done<void> done) {
  const std::uint32_t known = std::max<std::uint32_t>(ShardsOf(target->key), 1);
  CallRequest request{.kind = CallRequest::Kind::kConform,
                      .charges = {{target, std::vector<std::int64_t>(target->limits.size())}},
                      .now = table_.Now(),
                      .came = {},
                      .deadline = deadline};
  request.charges.front().shard = kSpread | known;
  Start(std::move(request), [self = shared_from_this(), target, known, deadline,
                             done = std::move(done)](Result<Decision> decision) mutable {
    if (!decision) return done(Fail(std::move(decision.error())));
    if (self->ShardsOf(target->key) <= known) return done({});
    self->Conform(std::move(target), deadline, std::move(done));
  });
}

// A callback that destroys the store runs after its event has left `inside_`, so this does not wait
// for its own thread.
void DynamoBucketStore::Driver::Stop() {
  shard_work_->Stop();
  mutex_.lock();
  is_stopped_ = true;
  while (inside_ > 0) left_.wait(mutex_);
  if (alarm_at_ != kNoTime) scheduler_.Cancel(alarm_);
  mutex_.unlock();
}

void DynamoBucketStore::Driver::EndRequest() {
  const MutexLock lock(mutex_);
  --requests_;
  left_.notify_all();
}

void DynamoBucketStore::Driver::AwaitRequests() {
  mutex_.lock();
  while (requests_ > 0) left_.wait(mutex_);
  mutex_.unlock();
}

void DynamoBucketStore::Driver::Close(Deadline deadline, Done<void> done) {
  {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    closing_.push_back(std::move(done));
  }
  if (!deadline.is_never()) {
    scheduler_.At(deadline.at(), [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->EndClose(Fail(Code::kDeadlineExceeded,
                          "writes are in flight whose outcome is not known yet; tokens that they "
                          "take stay taken"));
    });
  }
  // If the store is idle, this event completes the Close.
  On([](BucketProtocol&, const Moment&, Step&) {});
}

bool DynamoBucketStore::Driver::HasEnded() const {
  return !closing_.empty() && answers_ == 0 && protocol_.is_idle();
}

void DynamoBucketStore::Driver::EndAnswer() {
  bool has_ended = false;
  {
    const MutexLock lock(mutex_);
    --answers_;
    has_ended = HasEnded();
  }
  if (has_ended) EndClose({});
}

void DynamoBucketStore::Driver::EndClose(const Status& status) {
  std::vector<Task> tasks;
  {
    const MutexLock lock(mutex_);
    for (Done<void>& done : std::exchange(closing_, {})) {
      tasks.emplace_back([done = std::move(done), status]() mutable { done(status); });
    }
  }
  RunInTurn(std::move(tasks), scheduler_);
}

// There is one timer. It is set again only if the protocol needs an earlier time: most of the
// writes that it is set for complete before it fires, and a timer that fires too early does no
// harm.
void DynamoBucketStore::Driver::SetAlarm() {
  const std::optional<Instant> wake = protocol_.wake();
  if (!wake || *wake >= alarm_at_) return;
  if (alarm_at_ != kNoTime) scheduler_.Cancel(alarm_);
  alarm_at_ = *wake;
  alarm_ = scheduler_.At(alarm_at_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnAlarm();
  });
}

void DynamoBucketStore::Driver::OnAlarm() {
  {
    const MutexLock lock(mutex_);
    alarm_at_ = kNoTime;
  }
  On([](BucketProtocol& protocol, const Moment& moment, Step& step) {
    protocol.OnTime(moment, step);
  });
}

void DynamoBucketStore::Driver::Do(Step& step) {
  for (Step::Send& send : step.sends) Send(std::move(send));
  if (!step.reads.empty()) Read(std::move(step.reads));
  for (const Step::Completion& completion : step.completions) Complete(completion);
  for (const BucketImage& image : step.divides) shard_work_->Double(image);
  AheadReport report(&log_);
  for (const Step::SetBack& back : step.set_back) report.Add(back.bucket, back.ahead);
}

void DynamoBucketStore::Driver::Send(Step::Send send) {
  const Instant sent = scheduler_.clock().Now();
  auto done = [self = shared_from_this(), key = std::move(send.key), id = send.write.write,
               sent](tl::expected<WriteAnswer, WriteFailure> outcome) {
    const Instant now = self->scheduler_.clock().Now();
    // Throttled and lost writes say nothing of the usual round trip.
    const bool was_judged = outcome || outcome.error().kind == FailureClass::kConditional;
    if (was_judged) self->round_trips_.Add(now - sent, now);
    self->On([&](BucketProtocol& protocol, const Moment& moment, Step& step) {
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

void DynamoBucketStore::Driver::Read(std::vector<BucketKey> keys) {
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

void DynamoBucketStore::Driver::OnRead(const std::vector<BucketKey>& keys,
                                       Result<std::vector<std::optional<Item>>> items) {
  On([&](BucketProtocol& protocol, const Moment& moment, Step& step) {
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

void DynamoBucketStore::Driver::Complete(const Step::Completion& completion) {
  auto done = [self = shared_from_this(),
               bucket = completion.bucket](const Result<bool>& is_there) {
    self->On([&](BucketProtocol& protocol, const Moment& moment, Step& step) {
      protocol.OnCompleted(bucket, is_there, moment, step);
    });
    self->EndRequest();
  };
  const Deadline deadline = Deadline::After(scheduler_.clock(), kRequestTime);
  shard_work_->Complete(completion.bucket, completion.now, deadline, std::move(done));
}

void DynamoBucketStore::Driver::ReportIfDamaged(const Error& error) {
  if (error.code != Code::kDataLoss) return;
  const std::optional<std::int64_t> suppressed = damaged_.Take(scheduler_.clock().Now());
  if (!suppressed) return;
  const std::array<LogField, 2> fields = {LogField{"message", std::string_view(error.message)},
                                          {"suppressed", *suppressed}};
  log_.Write(LogLevel::kWarning, "bucket.damaged", fields);
}

void DynamoBucketStore::Driver::Answer(std::vector<Step::Answer> answers) {
  std::vector<Task> tasks;
  tasks.reserve(answers.size());
  for (Step::Answer& answer : answers) {
    if (!answer.result) ReportIfDamaged(answer.result.error());
    tasks.emplace_back([self = shared_from_this(), answer = std::move(answer)]() mutable {
      answer.done(std::move(answer.result));
      self->EndAnswer();
    });
  }
  RunInTurn(std::move(tasks), scheduler_);
}

void DynamoBucketStore::Driver::Learn(BucketImage image) {
  const MutexLock lock(mutex_);
  if (!is_stopped_) protocol_.Learn(std::move(image), Now());
}

void DynamoBucketStore::Driver::Forget(const BucketKey& key) {
  const MutexLock lock(mutex_);
  protocol_.Forget(key);
}

std::uint32_t DynamoBucketStore::Driver::ShardsOf(const BucketKey& key) {
  const MutexLock lock(mutex_);
  return protocol_.ShardsOf(key);
}

void DynamoBucketStore::Driver::ForgetEntity(std::string_view entity) {
  const MutexLock lock(mutex_);
  protocol_.ForgetEntity(entity);
}

std::optional<BucketImage> DynamoBucketStore::Driver::FindSince(const BucketKey& key,
                                                                Instant since) {
  const MutexLock lock(mutex_);
  const SeenBucket* seen = protocol_.Find(key);
  if (seen == nullptr || seen->image() == nullptr || seen->seen_at() < since) return std::nullopt;
  return *seen->image();
}

std::int64_t DynamoBucketStore::Driver::forfeits() {
  const MutexLock lock(mutex_);
  return protocol_.forfeits();
}

}  // namespace weir::dynamo
