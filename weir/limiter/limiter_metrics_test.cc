#include "weir/limiter/limiter_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class LimiterMetricsTest : public testing::Test {
 protected:
  void Ask(std::int64_t tokens) {
    limiter_.Acquire({.entity = "acme",
                      .resource = "gpt-4",
                      .amounts = {{"rpm", Tokens(tokens)}},
                      .limits = std::vector<Limit>{{"rpm", PerMinute(10)}}},
                     Deadline::Never(), [](const Result<Outcome>&) {});
  }

  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> backend_ = MakeMemoryBackend({}, &scheduler_.clock());
  Limiter limiter_{*backend_, scheduler_};
};

TEST_F(LimiterMetricsTest, EveryResultIsCountedUnderOneOutcome) {
  Registry registry;
  ASSERT_TRUE(RegisterMetrics(registry, limiter_));
  Ask(6);
  Ask(6);
  Ask(11);  // more than the capacity: an error
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("weir_limiter_decisions_total{outcome=\"admitted\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_limiter_decisions_total{outcome=\"refused\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_limiter_decisions_total{outcome=\"error\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_limiter_decisions_total{outcome=\"unprotected\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("weir_limiter_store_requests_total{kind=\"acquire\"} 2\n"));
}

// Q9. Fails if: an admission without a charge counts as charged, or a metric is the difference of
// two counters, which can decrease if the second one grows between the reads.
TEST_F(LimiterMetricsTest, Q9ChargedAndUnprotectedAreCountedApart) {
  Registry registry;
  ASSERT_TRUE(RegisterMetrics(registry, limiter_));
  Ask(6);
  ASSERT_TRUE(backend_->Close());
  limiter_.Acquire({.entity = "acme",
                    .resource = "gpt-4",
                    .amounts = {{"rpm", Tokens(1)}},
                    .limits = std::vector<Limit>{{"rpm", PerMinute(10)}},
                    .on_unavailable = OnUnavailable::kAllow},
                   Deadline::Never(), [](const Result<Outcome>&) {});
  const LimiterStats stats = limiter_.stats();
  EXPECT_EQ(stats.charged, 1U);
  EXPECT_EQ(stats.unprotected, 1U);
  EXPECT_EQ(stats.admitted, 2U);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("weir_limiter_decisions_total{outcome=\"admitted\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_limiter_decisions_total{outcome=\"unprotected\"} 1\n"));
}

TEST_F(LimiterMetricsTest, TheTimeOfEachStoreRequestIsInTheHistogram) {
  Registry registry;
  ASSERT_TRUE(RegisterMetrics(registry, limiter_));
  Ask(1);
  Ask(1);
  EXPECT_EQ(limiter_.StoreLatency().count(), 2u);
  EXPECT_THAT(registry.Text(), HasSubstr("weir_limiter_store_seconds_count 2\n"));
}

TEST_F(LimiterMetricsTest, WhatTheStoreDidNotAnswerIsCounted) {
  ProbeBackend store(*backend_);
  Limiter limiter(store, scheduler_);
  Registry registry;
  ASSERT_TRUE(RegisterMetrics(registry, limiter));
  const AcquireRequest request{.entity = "acme",
                               .resource = "gpt-4",
                               .amounts = {{"rpm", 1}},
                               .limits = std::vector<Limit>{{"rpm", PerMinute(10)}}};
  Lease lease = std::move(*limiter.Acquire(request, Deadline::Never())).lease();
  store.fail = Error{Code::kUnavailable, "away"};
  EXPECT_FALSE(limiter.Acquire(request, Deadline::Never()));
  EXPECT_FALSE(lease.Adjust({{"rpm", 1}}));
  scheduler_.Advance(std::chrono::minutes(10));
  EXPECT_FALSE(lease.Settle());
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("weir_limiter_store_errors_total 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_limiter_unsettled_adjusts_total{end=\"in_doubt\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_limiter_unsettled_adjusts_total{end=\"given_up\"} 1\n"));
}

TEST_F(LimiterMetricsTest, OneRegistryTakesTheMetricsOfOneLimiter) {
  Registry registry;
  ASSERT_TRUE(RegisterMetrics(registry, limiter_));
  EXPECT_EQ(RegisterMetrics(registry, limiter_).error().code, Code::kAlreadyExists);
}

}  // namespace
}  // namespace weir
