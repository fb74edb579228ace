#include "weir/reservation/limit_lookup.h"

#include <gtest/gtest.h>

#include <list>
#include <string>
#include <utility>

#include "weir/reservation/testing/probe_reservations.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using MaybeLimit = std::optional<AccountLimit>;

struct ToldLimit {
  int times = 0;
  Result<MaybeLimit> result;

  std::int64_t limit() const {
    EXPECT_TRUE(times == 1 && result && *result);
    return times == 1 && result && *result ? (*result)->limit : -99;
  }
  bool no_row() const { return times == 1 && result && !*result; }
};

class LimitLookupTest : public ::testing::Test {
 protected:
  ToldLimit& Get(const std::string& account, nanoseconds within = milliseconds(100)) {
    ToldLimit& told = told_.emplace_back();
    lookup_.Get({"emr", account}, Deadline::After(clock_, within), [&](Result<MaybeLimit> result) {
      ++told.times;
      told.result = std::move(result);
    });
    return told;
  }
  void Set(const std::string& account, std::int64_t limit) {
    store_.PutLimit({.key = {"emr", account}, .limit = {.limit = limit}, .service = "tests"});
  }
  std::size_t reads() const { return store_.limit_reads.size(); }

  std::list<ToldLimit> told_;
  sim::SimClock clock_;
  ProbeReservations store_;
  LimitLookup lookup_{store_, clock_, {.ttl = milliseconds(1'000), .capacity = 3}};
};

TEST_F(LimitLookupTest, ARowIsBelievedForItsTimeAndNotLonger) {
  Set("acme", 5);
  EXPECT_EQ(Get("acme").limit(), 5);
  Set("acme", 6);
  clock_.Advance(milliseconds(999));
  EXPECT_EQ(Get("acme").limit(), 5);
  EXPECT_EQ(reads(), 1U);
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(Get("acme").limit(), 6);
  EXPECT_EQ(reads(), 2U);
  EXPECT_EQ(lookup_.store_reads(), 2U);
}

TEST_F(LimitLookupTest, ThatThereIsNoRowIsBelievedAsWell) {
  EXPECT_TRUE(Get("acme").no_row());
  Set("acme", 6);
  EXPECT_TRUE(Get("acme").no_row());
  EXPECT_EQ(reads(), 1U);
}

TEST_F(LimitLookupTest, TheTimeCountsFromWhenTheStoreWasAsked) {
  Set("acme", 5);
  store_.hold = true;
  const ToldLimit& slow = Get("acme");
  clock_.Advance(milliseconds(600));
  store_.hold = false;
  store_.ReleaseHeldResults();
  EXPECT_EQ(slow.limit(), 5);
  clock_.Advance(milliseconds(400));
  Get("acme");
  EXPECT_EQ(reads(), 2U);
}

TEST_F(LimitLookupTest, AnErrorIsAnsweredAndNotBelieved) {
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(Get("acme").result.error().code, Code::kUnavailable);
  store_.fail.reset();
  EXPECT_TRUE(Get("acme").no_row());
}

TEST_F(LimitLookupTest, ThoseWhoMissAtTheSameTimeShareOneCall) {
  Set("acme", 5);
  store_.hold = true;
  Get("acme");
  Get("acme");
  Get("acme", milliseconds(200));
  EXPECT_EQ(reads(), 1U);
  Get("umbrella");
  EXPECT_EQ(reads(), 2U) << "another account is another call";
  store_.ReleaseHeldResults();
  for (const ToldLimit& told : told_) EXPECT_EQ(told.times, 1);
  EXPECT_EQ(told_.front().limit(), 5);
  EXPECT_TRUE(told_.back().no_row());
}

TEST_F(LimitLookupTest, NobodyWaitsForACallThatMayOutlastHisDeadline) {
  store_.hold = true;
  Get("acme", milliseconds(100));
  Get("acme", milliseconds(50));
  EXPECT_EQ(reads(), 2U);
}

TEST_F(LimitLookupTest, WhoHasMoreTimeAsksAgainWhenTheSharedCallRanOut) {
  store_.hold = true;
  store_.fail = Error{Code::kDeadlineExceeded, "slow"};
  const ToldLimit& first = Get("acme", milliseconds(50));
  const ToldLimit& second = Get("acme", milliseconds(100));
  EXPECT_EQ(reads(), 1U);
  store_.fail.reset();
  store_.hold = false;
  store_.ReleaseHeldResults();
  EXPECT_EQ(first.result.error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(second.no_row());
  EXPECT_EQ(reads(), 2U);
}

TEST_F(LimitLookupTest, WithoutATimeNothingIsBelievedOrShared) {
  LimitLookup lookup(store_, clock_, {.ttl = milliseconds(0)});
  store_.hold = true;
  for (int i = 0; i < 3; ++i) {
    lookup.Get({"emr", "acme"}, Deadline::Never(), [](const Result<MaybeLimit>&) {});
  }
  EXPECT_EQ(reads(), 3U);
  store_.ReleaseHeldResults();
}

TEST_F(LimitLookupTest, AForeverLongTimeIsForever) {
  LimitLookup lookup(store_, clock_, {.ttl = milliseconds::max()});
  const auto get = [&] {
    lookup.Get({"emr", "acme"}, Deadline::Never(), [](const Result<MaybeLimit>&) {});
  };
  get();
  clock_.Advance(std::chrono::hours(24 * 365));
  get();
  EXPECT_EQ(reads(), 1U);
}

TEST_F(LimitLookupTest, NoMoreAccountsAreRememberedThanThereIsRoom) {
  for (const char* account : {"a", "b", "c", "d"}) Get(account);
  Get("b");
  EXPECT_EQ(reads(), 4U);
  Get("a");
  EXPECT_EQ(reads(), 5U) << "it left for d";
}

}  // namespace
}  // namespace weir
