// Debits of allowances on a bucket that has other limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/model/reserved_allowance.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

Limit Rps(std::int64_t rate) { return {"rps", PerSecond(rate), milliseconds(500)}; }

class RenewalAllowancesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Configure(1000);
    Demand();
    store_.acquires.clear();
    store_.limit_reads.clear();
    store_.judge = [this](std::span<const Charge> charges) { return Judge(charges); };
  }
  void TearDown() override {
    results_.clear();
    limiter_.reset();
  }

  /// Changes the limits as another process would. The bucket has these limits afterwards.
  void Configure(std::int64_t rate) {
    memory_->config().Apply({Put(Level::Entity("acme", "r"), {Rps(rate)})}, Deadline::Never(),
                            [](const Status& applied) { ASSERT_TRUE(applied); });
    Store(rate);
  }
  void Store(std::int64_t rate) {
    scheduler_.Advance(milliseconds(1));
    rate_ = PerSecond(rate).amount;
    seen_ = scheduler_.clock().Now();
    scheduler_.Advance(milliseconds(1));
  }
  std::optional<Decision> Judge(std::span<const Charge> charges) {
    const Charge& own = charges.front();
    const bool differs = own.target->limits[0].quota.amount != rate_;
    if (differs && seen_ > own.resolved_at) {
      ++outdated_;
      return Decision{.limits = {}, .outdated = true};
    }
    if (differs) ++repairs_;
    rate_ = own.target->limits[0].quota.amount;
    return std::nullopt;
  }
  bool Take(std::int64_t tokens) {
    auto& result = results_.emplace_back();
    limiter_->Acquire({.entity = "acme", .resource = "r", .amounts = {{"rps", tokens}}},
                      Deadline::Never(), [&](Result<Outcome> got) { result = std::move(got); });
    return result && *result && (*result)->admitted();
  }
  /// Makes demand, so that debits are for more than one request.
  void Demand() {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(Take(1));
  }
  void TakeUntilOutdated() {
    for (int i = 0; i < 1000 && outdated_ == 0; ++i) {
      Take(1);
      if (i % 5 == 0) scheduler_.Advance(milliseconds(5));
    }
    ASSERT_EQ(outdated_, 1);
  }

  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  ProbeBackend store_{*memory_};
  std::unique_ptr<Limiter> limiter_ =
      std::make_unique<Limiter>(store_, scheduler_, LimiterOptions{.seed = 1});
  std::int64_t rate_ = 0;
  Instant seen_;
  int outdated_ = 0;
  int repairs_ = 0;
  std::list<std::optional<Result<Outcome>>> results_;
};

TEST_F(RenewalAllowancesTest, D6ARequestThatWaitsForAnOutdatedDebitIsServedUnderTheNewLimits) {
  scheduler_.Advance(milliseconds(5000));  // the held tokens expire
  Configure(2000);
  EXPECT_TRUE(Take(1));
  EXPECT_EQ(outdated_, 1);
  EXPECT_EQ(repairs_, 0);
  ASSERT_FALSE(store_.acquires.empty());
  EXPECT_EQ(store_.acquires.back().charges.front().target->limits[0],
            ReserveAllowance({Rps(2000)})[0]);
  EXPECT_EQ(limiter_->stats().outdated, 1U);
  EXPECT_EQ(store_.limit_reads.size(), 1U);
}

TEST_F(RenewalAllowancesTest, D6ADebitThatNoRequestWaitsForHasTheLimitsResolvedAgainToo) {
  scheduler_.Advance(milliseconds(5000));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Take(1));  // makes demand: debits are sent ahead
  store_.acquires.clear();
  store_.limit_reads.clear();
  Configure(2000);
  TakeUntilOutdated();
  EXPECT_TRUE(store_.acquires.empty()) << "no request was repeated";
  EXPECT_EQ(store_.limit_reads.size(), 1U);
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(outdated_, 1);
  EXPECT_EQ(repairs_, 0);
  ASSERT_FALSE(store_.acquires.empty());
  EXPECT_EQ(store_.acquires.back().charges.front().target->limits[0],
            ReserveAllowance({Rps(2000)})[0]);
}

TEST_F(RenewalAllowancesTest, D6TokensThatWereHeldUnderOldLimitsAreAccountedFor) {
  Configure(2000);
  TakeUntilOutdated();
  limiter_.reset();
  std::int64_t taken = 0;
  const BucketKey key{"acme", "r"};
  memory_->buckets().Read({&key, 1}, Deadline::Never(), [&](auto records) {
    taken = records->front()->bucket.meters[0].consumed / kMillitokens;
  });
  const auto served = std::ranges::count_if(
      results_, [](const auto& result) { return result && *result && (*result)->admitted(); });
  EXPECT_GE(taken, served);
  EXPECT_LE(taken, served + 100);
}

TEST_F(RenewalAllowancesTest, D6ABucketWithOldLimitsIsRepairedByTheNextDebit) {
  Store(700);
  TakeUntilOutdated();
  ASSERT_TRUE(Take(1));
  EXPECT_EQ(outdated_, 1);
  EXPECT_EQ(repairs_, 1);
}

TEST_F(RenewalAllowancesTest, D6ADebitIsAsNewAsTheLatestRequest) {
  scheduler_.Advance(milliseconds(500));
  limiter_->Invalidate();
  ASSERT_TRUE(Take(1));  // resolves the same limits
  const Instant resolved = scheduler_.clock().Now();
  scheduler_.Advance(milliseconds(500));
  rate_ = PerSecond(700).amount;
  seen_ = resolved - nanoseconds(1);
  store_.acquires.clear();
  for (int i = 0; i < 100; ++i) Take(1);
  EXPECT_FALSE(store_.acquires.empty());
  EXPECT_EQ(outdated_, 0);
  EXPECT_EQ(repairs_, 1);
}

// Fails if: limits that a caller gives, and that are equal to those of the store, make later debits
// look current: the store gets limits back that another process has replaced.
TEST_F(RenewalAllowancesTest, GivenLimitsDoNotMakeThoseOfTheStoreCurrent) {
  const AcquirePart part{
      .amounts = {{"rps", 1}},
      .target = MakeTarget({.entity = "acme", .resource = "r"}, ReserveAllowance({Rps(1000)}),
                           LimitSource::kConfigured)};
  ASSERT_TRUE(limiter_->AcquireAll({.parts = {&part, 1}}, Deadline::Never()));
  Configure(10);
  TakeUntilOutdated();
  EXPECT_EQ(repairs_, 0);
}

// Fails if: requests that give the limits that were configured are refused after another process
// has configured others: no renewal can change the limits of these requests.
TEST_F(RenewalAllowancesTest, RequestsThatGiveTheOldLimitsAreDecidedUnderThem) {
  store_.judge = [this](std::span<const Charge> charges) -> std::optional<Decision> {
    if (charges.front().target->source == LimitSource::kOverride) return std::nullopt;
    return Judge(charges);
  };
  Configure(2000);
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) {
    AcquireRequest request{.entity = "acme", .resource = "r", .amounts = {{"rps", 1}}};
    request.limits = std::vector<Limit>{Rps(1000)};
    limiter_->Acquire(std::move(request), Deadline::Never(),
                      [&](const Result<Outcome>& got) { admitted += got && got->admitted(); });
    scheduler_.Advance(milliseconds(10));
  }
  EXPECT_EQ(admitted, 1000);
  EXPECT_EQ(outdated_, 1) << "of the entry that configured requests had made";
}

// Fails if: a request that gives a target of the configuration is refused because it waited for the
// debit of requests whose limits were resolved.
TEST_F(RenewalAllowancesTest, ARequestThatGivesAConfiguredTargetIsDecidedUnderIt) {
  scheduler_.Advance(milliseconds(450));  // the tokens expire, the entry remains
  Configure(2000);
  const AcquirePart part{
      .amounts = {{"rps", 1}},
      .target = MakeTarget({.entity = "acme", .resource = "r"}, ReserveAllowance({Rps(1000)}),
                           LimitSource::kConfigured)};
  int admitted = 0;
  for (int i = 0; i < 20; ++i) {
    limiter_->AcquireAll(
        {.parts = {&part, 1}}, Deadline::Never(),
        [&](const Result<GroupOutcome>& got) { admitted += got && got->outcome.admitted(); });
    scheduler_.Advance(milliseconds(10));
  }
  EXPECT_EQ(outdated_, 1) << "of the entry that resolved requests had made";
  EXPECT_EQ(admitted, 20);
}

TEST_F(RenewalAllowancesTest, D6AllWhoWaitForADebitAreAnsweredThoughLimitsChangeAllTheTime) {
  scheduler_.Advance(milliseconds(5000));
  store_.judge = [](auto) { return Decision{.limits = {}, .outdated = true}; };
  store_.hold = true;
  for (int i = 0; i < 10; ++i) Take(1);
  for (int i = 0; i < 100 && store_.held() > 0; ++i) store_.Release();
  EXPECT_EQ(store_.held(), 0U);
  for (int i = 0; i < 10; ++i) {
    auto& result = *std::prev(results_.end(), i + 1);
    ASSERT_TRUE(result && *result);
    EXPECT_TRUE((*result)->decision().contended);
  }
}

}  // namespace
}  // namespace weir
