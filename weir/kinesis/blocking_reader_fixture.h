// A FakeStream for code that blocks. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "weir/aws/json_client.h"
#include "weir/kinesis/fake_stream_fixture.h"
#include "weir/runtime/scheduler.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::kinesis {

/// For one that blocks: whatever is to happen later happens now, and the clock says it is then.
class ImpatientScheduler final : public Scheduler {
 public:
  const Clock& clock() const override { return clock_; }
  void Post(Task task) override { task(); }
  TimerId At(Instant when, Task task) override {
    if (when > clock_.Now()) clock_.Advance(when - clock_.Now());
    task();
    return TimerId{1};
  }
  bool Cancel(TimerId) override { return false; }

 private:
  sim::SimClock clock_;
};

/// A FakeStream as a service that answers at once.
class FakeClient final : public JsonClient {
 public:
  FakeClient(FakeStream& stream, const Clock& clock) : stream_(stream), clock_(clock) {}
  void Call(JsonCall call, Deadline, JsonDone done) override {
    EXPECT_TRUE(call.repeatable);
    auto answer = stream_.Answer({0, call.operation, call.body}, clock_.Now(), rng_);
    if (!answer) return done(tl::unexpected(answer.error()));
    done(JsonReply{.body = *answer});
  }

 private:
  FakeStream& stream_;
  const Clock& clock_;
  Rng rng_{1};
};

}  // namespace weir::kinesis
