#include "weir/dynamo/bucket_store.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weir/dynamo/bucket_running.h"

namespace weir::dynamo {
namespace {

// What was taken in vain is given back even if the caller's deadline has passed. It takes at most
// so much longer, and the call is answered after it.
constexpr nanoseconds kGiveBackGrace = std::chrono::milliseconds(250);

// Between two writes of one process that store a bucket's parameters and take nothing: processes
// whose limits differ, because one's cache is old, do not change them all the time.

// Of one request: other shards that are asked after one refused, and times that the buckets turn
// out to be divided otherwise than was known.
constexpr int kMostRefusals = 2;
constexpr int kMostDetours = 20;

}  // namespace

DynamoBucketStore::DynamoBucketStore(Table& table, Keys keys, Scheduler& scheduler,
                                     BucketStoreOptions options)
    : table_(table),
      keys_(std::move(keys)),
      scheduler_(scheduler),
      writes_(WriteQuota(options.write_capacity)),
      refusal_age_(std::clamp(options.refusal_age, milliseconds(0), kLongestRefusalAge)),
      repair_rest_(options.repair_rest),
      images_(options.remembered_images),
      log_(options.log == nullptr ? NoLog() : *options.log),
      shard_work_(std::make_shared<ShardWork>(
          ShardWork::Parts{table_, keys_, scheduler_, images_, log_}, ~options.seed)),
      rng_(options.seed) {}

DynamoBucketStore::~DynamoBucketStore() { shard_work_->Stop(); }

std::uint64_t DynamoBucketStore::Draw() {
  const MutexLock lock(rng_mutex_);
  return rng_.Next();
}

void DynamoBucketStore::Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                                Done<Decision> done) {
  if (const Status valid = CheckAcquire(charges); !valid) return done(Fail(valid.error()));
  const auto request =
      std::make_shared<Request>(Request{.charges = {charges.begin(), charges.end()},
                                        .token = {},
                                        .now = now,
                                        .began = scheduler_.clock().Now(),
                                        .deadline = deadline,
                                        .done = std::move(done)});
  Start(request, RouteOf(*request));
}

void DynamoBucketStore::Adjust(std::span<const Charge> charges, AdjustToken token, UnixMillis now,
                               Deadline deadline, Done<void> done) {
  if (const Status valid = CheckAdjust(charges); !valid) return done(Fail(valid.error()));
  const auto request = std::make_shared<Request>(
      Request{.charges = {charges.begin(), charges.end()},
              .token = token,
              .now = now,
              .began = scheduler_.clock().Now(),
              .deadline = deadline,
              .done = [done = std::move(done)](Result<Decision> decision) mutable {
                done(decision ? Status() : Status(Fail(std::move(decision.error()))));
              }});
  Start(request, RouteOf(*request));
}

Route DynamoBucketStore::RouteOf(const Request& request) {
  if (request.token) return RouteAdjust(request.charges, images_, request.gone);
  const RouteTime time{request.now, scheduler_.clock().Now() - refusal_age_};
  return RouteTake(request.charges, images_, time, [this](std::size_t below) {
    const MutexLock lock(rng_mutex_);
    return rng_.Below(below);
  });
}

CallTerms DynamoBucketStore::TermsOf(const Request& request, const Route& route) const {
  CallTerms terms{.token = request.token,
                  .now = request.now,
                  .shards = route.shards,
                  .writes = writes_,
                  .trusted_since = scheduler_.clock().Now() - refusal_age_,
                  .repaired_before = scheduler_.clock().Now() - repair_rest_};
  if (!request.deadline.is_never()) terms.patience = request.deadline.at() - request.began;
  return terms;
}

void DynamoBucketStore::Start(const RequestPtr& request, Route route) {
  auto images = std::exchange(route.images, {});
  const auto running = std::make_shared<Running>(request, std::move(route), *this);
  Follow(running, running->On([&](BucketCall& call) { return call.Begin(std::move(images)); }));
}

void DynamoBucketStore::Learn(CallStep& step) {
  for (const BucketKey& key : step.unknown) images_.Forget(key);
  for (const BucketImage& image : step.throttled) shard_work_->Double(image);
  for (BucketImage& image : step.learned) {
    if (image.IsHotAt(Now())) shard_work_->Double(image);
    images_.Put(std::move(image), scheduler_.clock().Now());
  }
  step.unknown.clear();
  step.learned.clear();
  step.throttled.clear();
}

void DynamoBucketStore::Follow(const RunningPtr& running, CallStep step) {
  Learn(step);
  if (step.answer || !step.give_back.empty()) return Finish(running, std::move(step));
  if (step.pause > milliseconds(0)) return Pause(running, step.pause);
  if (!step.reads.empty()) return ReadAll(running, std::move(step.reads));
  for (CallStep::Send& send : step.sends) Send(running, std::move(send));
}

void DynamoBucketStore::ReadAll(const RunningPtr& running, std::vector<TableKey> keys) {
  table_.BatchGet(std::move(keys), running->deadline, [this, running](auto items) {
    Follow(running, running->On([&](BucketCall& call) { return call.OnRead(std::move(items)); }));
  });
}

void DynamoBucketStore::Send(const RunningPtr& running, CallStep::Send send) {
  if (send.in_turn) return WaitForTurn(running, std::move(send));
  Submit(running, std::move(send));
}

void DynamoBucketStore::Pause(const RunningPtr& running, milliseconds longest) {
  const nanoseconds wait(
      static_cast<std::int64_t>(Draw() % static_cast<std::uint64_t>(nanoseconds(longest).count())));
  const Instant now = scheduler_.clock().Now();
  const Deadline& deadline = running->deadline;
  const Instant at = deadline.is_never() ? now + wait : std::min(now + wait, deadline.at());
  scheduler_.At(std::max(at, now), [this, running] {
    Follow(running, running->On([](BucketCall& call) { return call.Resume(); }));
  });
}

void DynamoBucketStore::Finish(const RunningPtr& running, CallStep step) {
  if (!step.give_back.empty()) return GiveBack(running, std::move(step));
  Answered(running, std::move(step));
}

void DynamoBucketStore::GiveBack(const RunningPtr& running, CallStep step) {
  const auto back = std::make_shared<Request>(Request{
      .charges = {},
      .token = AdjustToken{Draw(), Draw()},
      .now = running->request->now,
      .began = scheduler_.clock().Now(),
      .deadline = std::max(running->deadline, Deadline::After(scheduler_.clock(), kGiveBackGrace)),
      .done = {}});
  Route route;
  for (Charge& charge : step.give_back) {
    route.origins.push_back(route.parts.size());
    route.shards.push_back(charge.target->key.shard == 0 ? 0 : 1);
    route.images.push_back(images_.Find(charge.target->key));
    route.parts.push_back(std::move(charge));
  }
  // If it fails the tokens may stay taken, until they are refilled: fewer, never more.
  back->done = [this, running, step = std::move(step)](const Result<Decision>& returned) mutable {
    if (!returned) running->request->in_doubt = true;
    if (step.answer) return Answered(running, std::move(step));
    Follow(running, running->On([](BucketCall& call) { return call.GaveBack(); }));
  };
  Start(back, std::move(route));
}

void DynamoBucketStore::ReportIfDamaged(const Error& error) {
  if (error.code != Code::kDataLoss) return;
  const std::optional<std::int64_t> suppressed = damaged_.Take(scheduler_.clock().Now());
  if (!suppressed) return;
  const std::array<LogField, 2> fields = {LogField{"message", std::string_view(error.message)},
                                          {"suppressed", *suppressed}};
  log_.Write(LogLevel::kWarning, "bucket.damaged", fields);
}

void DynamoBucketStore::Answered(const RunningPtr& running, CallStep step) {
  const RequestPtr& request = running->request;
  Result<Decision> answer = *std::move(step.answer);
  request->in_doubt = request->in_doubt || step.in_doubt;
  if (!answer) {
    ReportIfDamaged(answer.error());
    if (answer.error().code != Code::kAborted) return request->done(Fail(answer.error()));
    if (++request->detours <= kMostDetours) return RouteAgain(request, std::move(step.incomplete));
    if (request->token) {
      return request->done(Fail(Code::kUnavailable, std::move(answer.error().message)));
    }
    answer = Decision{.retry_after = kContendedWait, .limits = {}, .contended = true};
  }
  if (!answer->admitted && !request->token) return Refused(running, *std::move(answer));
  Decision told = Join(*std::move(answer), running->route, request->charges);
  told.maybe_charged_twice = request->in_doubt;
  request->done(std::move(told));
}

// By one shard of some bucket; another one may pay, or be able to earlier.
void DynamoBucketStore::Refused(const RunningPtr& running, Decision refusal) {
  const RequestPtr& request = running->request;
  Route route = RouteOf(*request);
  const bool ends = refusal.contended || request->refusals >= kMostRefusals;
  if (!route.IsDivided() || ends) {
    Decision told = Join(std::move(refusal), running->route, request->charges);
    told.maybe_charged_twice = request->in_doubt;
    return request->done(std::move(told));
  }
  // Where none is known to pay, what is asked now is told from what is remembered.
  request->refusals = route.may_pay ? request->refusals + 1 : kMostRefusals;
  Start(request, std::move(route));
}

void DynamoBucketStore::RouteAgain(const RequestPtr& request, std::vector<BucketKey> incomplete) {
  if (incomplete.empty()) return Start(request, RouteOf(*request));
  const BucketKey bucket = std::move(incomplete.back());
  incomplete.pop_back();
  shard_work_->Complete(
      bucket, request->now, request->deadline,
      [this, request, bucket, rest = std::move(incomplete)](const Result<bool>& is_there) mutable {
        if (!is_there) return request->done(Fail(is_there.error()));
        if (!*is_there) request->gone.push_back(bucket);
        RouteAgain(request, std::move(rest));
      });
}

}  // namespace weir::dynamo
