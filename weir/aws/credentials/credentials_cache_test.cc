#include "weir/aws/credentials/credentials_cache.h"
#include "weir/aws/credentials/caching_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

/// Keeps the calls pending until the test completes them.
class FakeSource final : public CredentialsProvider {
 public:
  explicit FakeSource(std::deque<Done<Credentials>>& asked, int& fetches)
      : asked_(asked), fetches_(fetches) {}
  void Get(Deadline, Done<Credentials> done) override {
    ++fetches_;
    asked_.push_back(std::move(done));
  }

 private:
  std::deque<Done<Credentials>>& asked_;
  int& fetches_;
};

class CachedCredentialsTest : public testing::Test {
 protected:
  CachedCredentialsTest() {
    cached_ =
        MakeCachedCredentials(std::make_unique<FakeSource>(asked_, fetches_), scheduler_, 4711);
  }

  /// Starts a Get; its result is appended to responses_.
  void Get(nanoseconds wait = seconds(1)) {
    cached_->Get(Deadline::After(scheduler_.clock(), wait),
                 [this](Result<Credentials> result) { responses_.push_back(std::move(result)); });
  }
  /// "key", or the name of the error code.
  std::string Last() const {
    if (responses_.empty()) return "nothing";
    return responses_.back() ? responses_.back()->access_key_id
                             : std::string(CodeName(responses_.back().error().code));
  }
  Result<Credentials> Lasting(std::string key, nanoseconds life) const {
    const auto whole = std::chrono::duration_cast<milliseconds>(life);
    return Credentials{.access_key_id = std::move(key),
                       .secret_access_key = "s",
                       .session_token = "t",
                       .expires = scheduler_.clock().WallNow() + whole};
  }
  void Complete(Result<Credentials> result) {
    ASSERT_FALSE(asked_.empty());
    Done<Credentials> done = std::move(asked_.front());
    asked_.pop_front();
    done(std::move(result));
  }
  static Result<Credentials> Forever(std::string key) {
    return Credentials{.access_key_id = std::move(key),
                       .secret_access_key = "s",
                       .session_token = "",
                       .expires = std::nullopt};
  }
  /// Rejects the credentials of the last result.
  void Reject() { cached_->Rejected(responses_.back().value()); }
  void Start(nanoseconds life) {
    Get();
    Complete(Lasting("first", life));
    ASSERT_EQ(Last(), "first");
  }
  /// Moves the clock by `d`, while every fetch fails. Returns the number of fetches.
  int FailEveryFetchFor(nanoseconds d) {
    const int before = fetches_;
    for (nanoseconds passed{0}; passed < d; passed += seconds(1)) {
      scheduler_.Advance(seconds(1));
      while (!asked_.empty()) Complete(Fail(Code::kUnavailable, "metadata: refused"));
    }
    return fetches_ - before;
  }

  sim::SimScheduler scheduler_;
  std::deque<Done<Credentials>> asked_;
  int fetches_ = 0;
  std::vector<Result<Credentials>> responses_;
  std::unique_ptr<CredentialsProvider> cached_;
};

TEST_F(CachedCredentialsTest, OneFetchServesAllThatWait) {
  for (int i = 0; i < 10; ++i) Get();
  EXPECT_EQ(fetches_, 1);
  EXPECT_TRUE(responses_.empty());
  Complete(Lasting("key", hours(1)));
  EXPECT_EQ(responses_.size(), 10U);
  for (const auto& response : responses_) EXPECT_EQ(response.value().access_key_id, "key");
}

TEST_F(CachedCredentialsTest, NothingIsFetchedFarFromExpiry) {
  Start(hours(1));
  for (int i = 0; i < 50; ++i) {
    scheduler_.Advance(minutes(1));
    Get();
  }
  EXPECT_EQ(fetches_, 1);
  EXPECT_EQ(responses_.size(), 51U);
}

TEST_F(CachedCredentialsTest, RefreshesInTheBackgroundWithoutBeingAsked) {
  Start(hours(1));
  scheduler_.Advance(minutes(54));
  EXPECT_EQ(fetches_, 1);
  scheduler_.Advance(minutes(1));
  EXPECT_EQ(fetches_, 2);
  Get();
  EXPECT_EQ(Last(), "first") << "a refresh under way must not keep anybody waiting";
  Complete(Lasting("second", hours(1)));
  Get();
  EXPECT_EQ(Last(), "second");
}

TEST_F(CachedCredentialsTest, AFleetDoesNotRefreshTogether) {
  std::vector<Instant> when;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CredentialsCache cache(seed);
    const CredentialsCache::Time at{scheduler_.clock().Now(), scheduler_.clock().WallNow()};
    ASSERT_TRUE(cache.BeginFetch(at));
    cache.Fetched(Lasting("key", minutes(6) + seconds(30)), at);
    when.push_back(cache.WakeAt(at).value());
  }
  std::sort(when.begin(), when.end());
  EXPECT_GT(when.back() - when.front(), nanoseconds(seconds(20)));
}

// Fails if: an expiry that is too far for nanoseconds, which some sources return for "never", makes
// the timer fire without end.
TEST_F(CachedCredentialsTest, AFarExpiryIsLookedAtOnceAMinute) {
  for (const std::int64_t expires : {253'402'300'799'000, INT64_MAX}) {
    CredentialsCache cache(1);
    const CredentialsCache::Time at{scheduler_.clock().Now(), scheduler_.clock().WallNow()};
    ASSERT_TRUE(cache.BeginFetch(at));
    cache.Fetched(Credentials{.access_key_id = "key",
                              .secret_access_key = "s",
                              .session_token = "",
                              .expires = UnixMillis{expires}},
                  at);
    EXPECT_EQ(cache.WakeAt(at), at.now + minutes(1));
    EXPECT_FALSE(cache.BeginFetch(at));
  }
}

TEST_F(CachedCredentialsTest, FailingToRefreshKeepsTheOldOnesUntilTheyExpire) {
  Start(hours(1));
  const int failed = FailEveryFetchFor(minutes(60) - seconds(1));
  EXPECT_GE(failed, 5);
  EXPECT_LE(failed, 60) << "a source that fails is not hammered";
  Get();
  EXPECT_EQ(Last(), "first");
  FailEveryFetchFor(seconds(2));
  Get();
  while (!asked_.empty()) Complete(Fail(Code::kUnavailable, "metadata: refused"));
  EXPECT_EQ(Last(), "UNAUTHENTICATED");
  EXPECT_THAT(responses_.back().error().message, testing::HasSubstr("metadata: refused"));
}

TEST_F(CachedCredentialsTest, RecoversWithoutBeingAskedAfterExpiry) {
  Start(hours(1));
  FailEveryFetchFor(minutes(70));
  while (asked_.empty()) ASSERT_TRUE(scheduler_.RunNext());
  Complete(Lasting("again", hours(1)));
  Get();
  EXPECT_EQ(Last(), "again");
}

TEST_F(CachedCredentialsTest, AFailedFirstFetchAnswersAllAndSaysWhenToAskAgain) {
  Get();
  Get();
  Complete(Fail(Code::kUnavailable, "environment: empty"));
  ASSERT_EQ(responses_.size(), 2U);
  for (const auto& response : responses_) {
    EXPECT_EQ(response.error().code, Code::kUnauthenticated);
    EXPECT_THAT(response.error().message, testing::HasSubstr("environment: empty"));
  }
  const auto wait = responses_.back().error().retry_after;
  ASSERT_TRUE(wait);
  EXPECT_LE(*wait, seconds(1));
  scheduler_.Advance(*wait);
  Get();
  EXPECT_EQ(fetches_, 2);
}

TEST_F(CachedCredentialsTest, WhileItIsForbiddenToFetchTheLastFailureAnswersAtOnce) {
  Get();
  Complete(Fail(Code::kUnavailable, "no"));
  const nanoseconds wait = responses_.back().error().retry_after.value();
  ASSERT_GT(wait, nanoseconds(milliseconds(1)));
  scheduler_.Advance(wait - milliseconds(1));
  Get();
  EXPECT_EQ(responses_.size(), 2U);
  EXPECT_EQ(Last(), "UNAUTHENTICATED");
  EXPECT_EQ(fetches_, 1);
}

TEST_F(CachedCredentialsTest, WhoWaitsIsAnsweredByItsDeadlineThoughTheFetchIsNot) {
  Get(seconds(2));
  Get(seconds(5));
  scheduler_.Advance(seconds(2));
  ASSERT_EQ(responses_.size(), 1U);
  EXPECT_EQ(Last(), "DEADLINE_EXCEEDED");
  EXPECT_EQ(fetches_, 1);
  Complete(Lasting("late", hours(1)));
  EXPECT_EQ(responses_.size(), 2U);
  EXPECT_EQ(Last(), "late");
}

TEST_F(CachedCredentialsTest, APassedDeadlineStillGetsWhatIsInMemory) {
  Get(nanoseconds(0));
  EXPECT_EQ(Last(), "DEADLINE_EXCEEDED");
  Complete(Lasting("key", hours(1)));
  Get(nanoseconds(0));
  EXPECT_EQ(Last(), "key");
}

TEST_F(CachedCredentialsTest, CredentialsThatNeverExpireAreFetchedOnce) {
  Get();
  Complete(Forever("forever"));
  scheduler_.Advance(hours(1000));
  Get();
  EXPECT_EQ(Last(), "forever");
  EXPECT_EQ(fetches_, 1);
}

TEST_F(CachedCredentialsTest, CredentialsThatHaveExpiredAreAFailure) {
  Get();
  Complete(Lasting("stale", nanoseconds(0)));
  EXPECT_EQ(Last(), "UNAUTHENTICATED");
}

TEST_F(CachedCredentialsTest, ASourceThatKeepsGivingWhatIsAboutToExpireIsNotHammered) {
  Start(minutes(4));
  for (int i = 0; i < 200; ++i) {
    scheduler_.Advance(seconds(1));
    while (!asked_.empty()) Complete(Lasting("short", minutes(4)));
  }
  EXPECT_GE(fetches_, 5);
  EXPECT_LE(fetches_, 60);
}

TEST_F(CachedCredentialsTest, AWallClockThatJumpsOverTheExpiryIsNoticed) {
  Start(hours(1));
  scheduler_.sim_clock().SetWall(scheduler_.clock().WallNow() + hours(2));
  Get();
  EXPECT_EQ(responses_.size(), 1U) << "expired credentials must not be handed out";
  Complete(Lasting("fresh", hours(1)));
  EXPECT_EQ(Last(), "fresh");
}

// Fails if: credentials expire by a wall clock that is ahead of the service's.
TEST_F(CachedCredentialsTest, D15AWallClockThatIsAheadDoesNotExpireThem) {
  Start(hours(1));
  cached_->SetServiceTime(scheduler_.clock().WallNow());
  scheduler_.sim_clock().SetWall(scheduler_.clock().WallNow() + hours(2));
  scheduler_.Advance(minutes(1));
  Get();
  EXPECT_EQ(Last(), "first");
  EXPECT_EQ(responses_.size(), 2U);
  EXPECT_EQ(fetches_, 1);
}

// Fails if: the refresh follows a wall clock that is behind, and so comes after the credentials
// have expired.
TEST_F(CachedCredentialsTest, D15AWallClockThatIsBehindDoesNotDelayTheRefresh) {
  const UnixMillis truth = scheduler_.clock().WallNow();
  Start(hours(1));
  cached_->SetServiceTime(truth);
  scheduler_.sim_clock().SetWall(truth - hours(2));
  scheduler_.Advance(minutes(56));
  EXPECT_EQ(fetches_, 2);
}

// Fails if: a wrong Date of a service or a proxy leaves the process without credentials.
TEST_F(CachedCredentialsTest, D15AWrongServiceTimeDoesNotTakeThemAway) {
  Start(hours(1));
  cached_->SetServiceTime(scheduler_.clock().WallNow() + hours(24 * 365));
  for (int i = 0; i < 600; ++i) {
    scheduler_.Advance(seconds(1));
    while (!asked_.empty()) Complete(Lasting("next", hours(1)));
    Get();
    ASSERT_TRUE(responses_.back());
  }
  EXPECT_LE(fetches_, 60) << "nor does it hammer the source";
}

TEST_F(CachedCredentialsTest, WhatWasRefusedIsNotGivenAgainBeforeAFetch) {
  Start(hours(1));
  Reject();
  EXPECT_EQ(fetches_, 1) << "nobody has asked yet";
  Get();
  Get();
  EXPECT_EQ(responses_.size(), 1U);
  EXPECT_EQ(fetches_, 2);
  Complete(Lasting("second", hours(1)));
  EXPECT_EQ(responses_.size(), 3U);
  EXPECT_EQ(Last(), "second");
}

TEST_F(CachedCredentialsTest, CredentialsWithoutAnExpiryCanBeRefusedToo) {
  Get();
  Complete(Forever("first"));
  Reject();
  Get();
  Complete(Forever("second"));
  EXPECT_EQ(Last(), "second");
}

TEST_F(CachedCredentialsTest, WhoIsRefusedLateDoesNotTakeTheNewOnesAway) {
  Start(hours(1));
  const Credentials first = *responses_.back();
  Reject();
  Get();
  Complete(Lasting("second", hours(1)));
  for (int i = 0; i < 100; ++i) {
    cached_->Rejected(first);
    Get();
    EXPECT_EQ(Last(), "second");
  }
  EXPECT_EQ(fetches_, 2);
}

TEST_F(CachedCredentialsTest, WhereTheSourceHasOnlyTheSameItIsNotHammered) {
  Start(hours(10));
  for (int i = 0; i < 200; ++i) {
    for (int calls = 0; calls < 5; ++calls) {
      Reject();
      Get();
      while (!asked_.empty()) Complete(Lasting("first", hours(10)));
      ASSERT_EQ(Last(), "first");
    }
    scheduler_.Advance(seconds(1));
  }
  EXPECT_GE(fetches_, 5);
  EXPECT_LE(fetches_, 60);
  EXPECT_EQ(responses_.size(), 1001U) << "nobody waits for a fetch that is not allowed";
}

TEST_F(CachedCredentialsTest, AnotherSetIsFetchedAtOnceWhateverCameBefore) {
  Start(hours(1));
  for (const char* const key : {"second", "third", "fourth"}) {
    Reject();
    Get();
    Complete(Lasting(key, hours(1)));
    EXPECT_EQ(Last(), key);
  }
}

TEST_F(CachedCredentialsTest, WhereNoOthersCanBeFetchedThereAreNone) {
  Start(hours(1));
  Reject();
  Get();
  Complete(Fail(Code::kUnavailable, "metadata: refused"));
  EXPECT_EQ(Last(), "UNAUTHENTICATED");
  EXPECT_THAT(responses_.back().error().message, testing::HasSubstr("metadata: refused"));
  scheduler_.Advance(responses_.back().error().retry_after.value());
  Get();
  Complete(Lasting("first", hours(1)));
  EXPECT_EQ(Last(), "first") << "the source insists";
}

TEST_F(CachedCredentialsTest, ARefusalDuringARefreshIsAnsweredByThatRefresh) {
  Start(hours(1));
  scheduler_.Advance(minutes(55));
  ASSERT_EQ(fetches_, 2);
  Reject();
  Get();
  EXPECT_EQ(responses_.size(), 1U);
  Complete(Lasting("second", hours(1)));
  EXPECT_EQ(Last(), "second");
  EXPECT_EQ(fetches_, 2);
}

TEST_F(CachedCredentialsTest, DestroyingItAnswersWhoWaits) {
  Get();
  cached_.reset();
  EXPECT_EQ(Last(), "CANCELLED");
  Complete(Lasting("too late", hours(1)));
  EXPECT_EQ(responses_.size(), 1U);
  scheduler_.Advance(hours(2));
  EXPECT_EQ(responses_.size(), 1U);
}

/// Whatever the results of fetches, the times of calls and the refusals of AWS: the returned
/// credentials are valid, each call completes exactly once and by its deadline, and there is at
/// most one fetch at a time. Fails if: Valid() ignores the expiry, BeginFetch() ignores fetching_,
/// or TimeOut() leaves the waiter in the map.
TEST(CachedCredentialsPropertyTest, AnswersAreValidInTimeAndFromOneFetchAtATime) {
  const bool held = rc::check([](std::uint64_t seed) {
    Rng rng(seed);
    sim::SimScheduler scheduler(seed);
    std::deque<Done<Credentials>> asked;
    int fetches = 0;
    std::optional<Credentials> last;
    // Outlives the calls that are pending when an assertion returns early.
    std::vector<int> completed;
    const auto cached =
        MakeCachedCredentials(std::make_unique<FakeSource>(asked, fetches), scheduler, seed);
    for (int step = 0; step < 120; ++step) {
      const std::size_t id = completed.size();
      completed.push_back(0);
      const Deadline deadline =
          Deadline::After(scheduler.clock(), milliseconds(rng.Between(0, 20'000)));
      cached->Get(deadline, [&, id, deadline](Result<Credentials> result) {
        ++completed[id];
        if (result) RC_ASSERT(*result->expires > scheduler.clock().WallNow());
        if (result) last = *result;
        RC_ASSERT(scheduler.clock().Now() <= deadline.at());
      });
      RC_ASSERT(asked.size() <= 1U);
      if (last && rng.Chance(0.3)) cached->Rejected(*last);
      scheduler.Advance(milliseconds(rng.Between(0, 60'000)));
      if (asked.empty() || rng.Chance(0.3)) continue;
      Done<Credentials> done = std::move(asked.front());
      asked.pop_front();
      const milliseconds life(rng.Between(-1'000, 900'000));
      if (rng.Chance(0.3)) {
        done(Fail(Code::kUnavailable, "no"));
      } else {
        const std::string key = rng.Chance(0.5) ? "k" : "l";
        done(Credentials{key, "s", "t", scheduler.clock().WallNow() + life});
      }
    }
    scheduler.Advance(seconds(20));
    for (const int count : completed) RC_ASSERT(count == 1);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace weir
