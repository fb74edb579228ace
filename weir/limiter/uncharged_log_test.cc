#include "weir/limiter/uncharged_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UnchargedLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(limiter_.Apply({Put(Level::System(), RpmLimits(10))}, Deadline::Never()));
  }
  void Ask(std::string_view entity) {
    const auto outcome = limiter_.Acquire(
        {.entity = entity, .resource = "gpt-4", .amounts = {{"rpm", 1}}}, Deadline::Never());
    EXPECT_TRUE(outcome && outcome->admitted());
  }
  static std::string Line(const std::string& fields) {
    return "warning limiter.admitted_without_charge " + fields;
  }

  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  ProbeBackend store_{*memory_};
  RecordingLog log_;
  Limiter limiter_{store_, scheduler_,
                   LimiterOptions{.on_unavailable = OnUnavailable::kAllow, .log = &log_}};
};

// C27: nothing was logged, not even admissions without a charge.
TEST_F(UnchargedLogTest, C27AnAdmissionWithoutAChargeIsLoggedWithItsCause) {
  Ask("acme");
  EXPECT_THAT(log_.lines(), IsEmpty()) << "it was charged";
  store_.fail = Error{Code::kUnavailable, "connection refused"};
  Ask("acme");
  Ask("never-seen");
  EXPECT_THAT(log_.lines(), ElementsAre(Line("entity=acme resource=gpt-4 cause=UNAVAILABLE "
                                             "message=connection refused suppressed=0")))
      << "one a second";
}

TEST_F(UnchargedLogTest, C27APairThatCouldNotBeResolvedIsNamedToo) {
  store_.fail = Error{Code::kDeadlineExceeded, "late"};
  Ask("never-seen");
  EXPECT_THAT(log_.lines(), ElementsAre(Line("entity=never-seen resource=gpt-4 "
                                             "cause=DEADLINE_EXCEEDED message=late suppressed=0")));
}

TEST_F(UnchargedLogTest, C27OneEventASecondForEachCauseSaysHowManyWereLeftOut) {
  Ask("acme");
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded}) {
    store_.fail = Error{code, "away"};
    for (int i = 0; i < 5; ++i) Ask("acme");
  }
  EXPECT_EQ(log_.lines().size(), 2U);
  scheduler_.Advance(milliseconds(999));
  Ask("acme");
  EXPECT_EQ(log_.lines().size(), 2U);
  scheduler_.Advance(milliseconds(1));
  Ask("acme");
  ASSERT_EQ(log_.lines().size(), 3U);
  EXPECT_EQ(log_.lines()[2], Line("entity=acme resource=gpt-4 cause=DEADLINE_EXCEEDED "
                                  "message=away suppressed=5"));
  EXPECT_EQ(limiter_.stats().unprotected, 12U) << "all are counted";
}

}  // namespace
}  // namespace weir
