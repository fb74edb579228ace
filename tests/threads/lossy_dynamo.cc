#include "tests/threads/lossy_dynamo.h"

#include <chrono>
#include <utility>

#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir {
namespace {

constexpr nanoseconds kDelay = std::chrono::milliseconds(2);

AwsFailure Throttled(const JsonCall& call) {
  return {.kind = FailureClass::kThrottle, .message = call.operation + ": too fast", .attempts = 1};
}

AwsFailure NoResponse(const JsonCall& call) {
  return {.kind = FailureClass::kAmbiguous,
          .message = call.operation + ": no answer",
          .attempts = 1,
          .maybe_applied = true};
}

bool IsRead(const JsonCall& call) {
  return call.operation.find("Get") != std::string::npos || call.operation == "Query";
}

}  // namespace

LossyDynamo::LossyDynamo(Scheduler& scheduler, const std::string& table, std::uint64_t seed)
    : scheduler_(scheduler), server_(scheduler.clock(), seed), rng_(seed) {
  const MutexLock lock(mutex_);
  dynamo::CreateTableIn(server_, table, dynamo::ZaeLayout());
}

// All calls make the same draws, so faults do not change the ways of later calls.
LossyDynamo::Draw LossyDynamo::DrawOf(const JsonCall& call) {
  static constexpr Way kWays[] = {Way::kAtOnce, Way::kThread, Way::kThread, Way::kScheduler};
  static constexpr Fate kFaults[] = {Fate::kThrottled, Fate::kLostRequest, Fate::kLostResponse,
                                     Fate::kLateRequest};
  const MutexLock lock(mutex_);
  const Way way = kWays[rng_.Below(4)];
  const bool fails = rng_.Chance(IsRead(call) ? 0.05 : 0.1);
  const Fate fault = kFaults[rng_.Below(4)];
  return {.fate = fails && is_faulty_ ? fault : Fate::kCompleted, .way = way};
}

void LossyDynamo::Call(JsonCall call, Deadline, JsonDone done) {
  ++pending_;
  const Draw draw = DrawOf(call);
  auto result = [this, fate = draw.fate, call = std::move(call), done = std::move(done)]() mutable {
    Respond(fate, call, std::move(done));
    if (--pending_ == 0) pending_.notify_all();
  };
  if (draw.way == Way::kAtOnce) return result();
  if (draw.way == Way::kThread) return threads_.Post(std::move(result));
  scheduler_.At(scheduler_.clock().Now() + kDelay, std::move(result));
}

void LossyDynamo::Respond(Fate fate, const JsonCall& call, JsonDone done) {
  switch (fate) {
    case Fate::kCompleted:
      return done(Handle(call));
    case Fate::kThrottled:
      return done(tl::unexpected(Throttled(call)));
    case Fate::kLostRequest:
      return done(tl::unexpected(NoResponse(call)));
    case Fate::kLostResponse:
      ++applied_failures_;
      static_cast<void>(Handle(call));
      return done(tl::unexpected(NoResponse(call)));
    case Fate::kLateRequest:
      ++applied_failures_;
      done(tl::unexpected(NoResponse(call)));
      static_cast<void>(Handle(call));
      return;
  }
}

tl::expected<JsonReply, AwsFailure> LossyDynamo::Handle(const JsonCall& call) {
  const MutexLock lock(mutex_);
  return dynamo::ReplyTo(call.operation, server_.Handle(dynamo::RequestOf(call)));
}

void LossyDynamo::AwaitResults() const {
  for (auto seen = pending_.load(); seen != 0; seen = pending_.load()) pending_.wait(seen);
}

}  // namespace weir
