#include "weir/limiter/allowance/allowance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "weir/base/rng.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using Millis = Allowance::Millis;
using Verdict = Allowance::Verdict;

constexpr Instant kStart{86'400'000'000'007};
constexpr nanoseconds kMilli = milliseconds(1);

Instant AtMillis(std::int64_t millis) { return kStart + millis * kMilli; }

/// The lifetime is one second: tokens may be spent for 750 ms, and debits are 500 ms apart after
/// the first eight.
class AllowanceTest : public ::testing::Test {
 protected:
  Allowance::Step Ask(std::int64_t tokens, Instant now) {
    const Millis need{tokens * kMillitokens};
    allowance_.Want(need, now);
    return allowance_.Ask(need, now);
  }
  void Debited(std::int64_t available, Instant now) {
    allowance_.OnDebited(Millis{available * kMillitokens}, now);
  }
  /// Requests this many tokens and completes the debit, so that they are held.
  void Hold(std::int64_t tokens, Instant now) {
    ASSERT_EQ(Ask(tokens, now).verdict, Verdict::kWait);
    Debited(1000, now);
  }
  std::int64_t Debit() const { return allowance_.debit()[0] / kMillitokens; }
  std::int64_t Held(Instant now) const { return allowance_.Held(now)[0]; }

  Allowance allowance_{milliseconds(1000), {PerSecond(10).Burst(1000)}};
};

TEST_F(AllowanceTest, TheFirstRequestWaitsForItsDebit) {
  const auto step = Ask(3, AtMillis(0));
  EXPECT_EQ(step.verdict, Verdict::kWait);
  EXPECT_TRUE(step.debit);
  EXPECT_EQ(Debit(), 3);
  EXPECT_EQ(allowance_.debit_ends(), AtMillis(750));
  EXPECT_FALSE(Ask(1, AtMillis(1)).debit) << "one debit at a time";
  Debited(1000, AtMillis(5));
  EXPECT_EQ(allowance_.Ask(Millis{3000}, AtMillis(5)).verdict, Verdict::kSpent);
  EXPECT_EQ(Held(AtMillis(5)), 0);
}

TEST_F(AllowanceTest, WhatIsDebitedFollowsWhatWasWanted) {
  Hold(1, AtMillis(0));
  for (int i = 0; i < 20; ++i) Ask(2, AtMillis(1));
  Debited(1000, AtMillis(2));
  EXPECT_EQ(allowance_.Ask(Millis{2000}, AtMillis(2)).verdict, Verdict::kSpent);
  EXPECT_TRUE(Ask(2, AtMillis(3)).debit);
  EXPECT_EQ(Debit(), 1 + 20 * 2 + 2 - 1) << "all that was wanted, less one that is held";
}

TEST_F(AllowanceTest, NoMoreThanHalfOfWhatTheBucketHadIsDebited) {
  Hold(1, AtMillis(0));
  allowance_.Ask(Millis{1000}, AtMillis(0));
  for (int i = 0; i < 50; ++i) Ask(20, AtMillis(1));
  Debited(100, AtMillis(2));
  EXPECT_TRUE(allowance_.Ask(Millis{allowance_.debit()[0]}, AtMillis(2)).debit);
  EXPECT_EQ(Debit(), 50);
}

TEST_F(AllowanceTest, NothingIsSpentAfterThreeQuartersOfTheLifetimeFromTheSending) {
  ASSERT_EQ(Ask(2, AtMillis(0)).verdict, Verdict::kWait);
  Debited(1000, AtMillis(700));
  EXPECT_EQ(Ask(1, AtMillis(750) - nanoseconds(1)).verdict, Verdict::kSpent);
  EXPECT_NE(Ask(1, AtMillis(750)).verdict, Verdict::kSpent);
}

TEST_F(AllowanceTest, AnAnswerThatComesTooLateSendsRequestsToTheStore) {
  Ask(2, AtMillis(0));
  Debited(1000, AtMillis(750));
  EXPECT_EQ(Held(AtMillis(750)), 0);
  EXPECT_EQ(allowance_.Ask(Millis{2000}, AtMillis(750)).verdict, Verdict::kCallStore);
}

TEST_F(AllowanceTest, ARefusalIsUsedUntilItsInstant) {
  Ask(5, AtMillis(0));
  allowance_.OnRefused(Millis{1000}, AtMillis(700), AtMillis(0));
  const auto step = Ask(5, AtMillis(699));
  EXPECT_EQ(step.verdict, Verdict::kRefused);
  EXPECT_EQ(step.retry_at, AtMillis(700));
  EXPECT_TRUE(Ask(5, AtMillis(700)).debit);
}

// U12: a refusal is used for at most a second, because other processes may return tokens, or limits
// may change.
TEST_F(AllowanceTest, U12ARefusalIsUsedForASecondAtMostAndStillTellsTheWholeWait) {
  Ask(50, AtMillis(0));
  allowance_.OnRefused(Millis{1000}, AtMillis(4900), AtMillis(0));
  const auto step = Ask(50, AtMillis(999));
  EXPECT_EQ(step.verdict, Verdict::kRefused);
  EXPECT_EQ(step.retry_at, AtMillis(4900)) << "49 tokens at 10 a second";
  EXPECT_TRUE(Ask(50, AtMillis(1000)).debit);
}

// U12: 10 tokens are refilled in two spacings of half a second. Tokens beyond these are debited out
// of turn.
TEST_F(AllowanceTest, U12WhatTheBucketWasSeenToHaveIsDebitedOutOfTurn) {
  for (int i = 0; i < 7; ++i) {
    EXPECT_TRUE(Ask(1, AtMillis(i)).debit);
    Debited(0, AtMillis(i));
    EXPECT_EQ(allowance_.Ask(Millis{1000}, AtMillis(i)).verdict, Verdict::kSpent);
  }
  for (std::int64_t left = 40; left > 10; left -= Debit()) {
    EXPECT_TRUE(Ask(left / 2, AtMillis(8)).debit) << left;
    EXPECT_LE(Debit(), left / 2);
    Debited(left, AtMillis(8));
    EXPECT_EQ(allowance_.Ask(Millis{Debit() * kMillitokens}, AtMillis(8)).verdict, Verdict::kSpent);
  }
  EXPECT_EQ(Ask(1, AtMillis(9)).verdict, Verdict::kRefused);
  EXPECT_LE(Ask(1, AtMillis(9)).retry_at, AtMillis(508)) << "none is put off beyond a spacing";
}

// Fails if: Contended does not delay the next debit, or resets the known balance of the bucket.
TEST_F(AllowanceTest, U12ContentionPutsOffTheNextDebitAndSaysNothingOfTheBucket) {
  Hold(1, AtMillis(0));
  EXPECT_EQ(allowance_.Ask(Millis{1000}, AtMillis(0)).verdict, Verdict::kSpent);
  EXPECT_TRUE(Ask(40, AtMillis(1)).debit);
  allowance_.OnContended(AtMillis(101), AtMillis(1));
  const auto step = Ask(40, AtMillis(100));
  EXPECT_EQ(step.verdict, Verdict::kRefused) << "it would meet the same writers";
  EXPECT_EQ(step.retry_at, AtMillis(101));
  EXPECT_TRUE(Ask(40, AtMillis(101)).debit);
  EXPECT_EQ(Debit(), 1 + 40 + 40 + 40) << "all that was wanted, since the bucket had 1,000";
}

// Fails if: a refusal that arrives late has already expired: a request that waits for it then never
// completes.
TEST_F(AllowanceTest, U12ARequestThatWaitsIsDecidedByTheAnswerHoweverLateItComes) {
  EXPECT_TRUE(Ask(5, AtMillis(0)).debit);
  allowance_.OnRefused(Millis{1000}, AtMillis(100), AtMillis(600));
  EXPECT_EQ(allowance_.Ask(Millis{5000}, AtMillis(600)).verdict, Verdict::kRefused);
  EXPECT_TRUE(Ask(5, AtMillis(601)).debit);
  allowance_.OnContended(AtMillis(702), AtMillis(900));
  EXPECT_EQ(allowance_.Ask(Millis{5000}, AtMillis(900)).verdict, Verdict::kRefused);
  EXPECT_TRUE(Ask(5, AtMillis(901)).debit);
}

// Fails if: MayDebit uses the balances of any number of consecutive refusals.
TEST_F(AllowanceTest, U12AStoreThatRefusesWhatItShowsIsAskedAFewTimesAndThenInTurn) {
  int debits = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (!Ask(1, AtMillis(i)).debit) continue;
    ++debits;
    allowance_.OnRefused(Millis{1'000'000}, AtMillis(i + 1), AtMillis(i));
  }
  EXPECT_LE(debits, 4 + 10'000 / 500) << "one in each half of the lifetime";
  EXPECT_GE(debits, 10'000 / 500);
}

TEST_F(AllowanceTest, U12ContentionOfTheFirstDebitIsARefusalToo) {
  EXPECT_TRUE(Ask(1, AtMillis(0)).debit);
  allowance_.OnContended(AtMillis(101), AtMillis(1));
  EXPECT_EQ(Ask(1, AtMillis(1)).verdict, Verdict::kRefused);
  EXPECT_EQ(Ask(1, AtMillis(1)).retry_at, AtMillis(101));
}

TEST_F(AllowanceTest, U12ContentionThatLastsCostsOneDebitForEachWait) {
  int debits = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (!Ask(1, AtMillis(i)).debit) continue;
    ++debits;
    allowance_.OnContended(AtMillis(i + 101), AtMillis(i));
  }
  EXPECT_LE(debits, 100);
}

TEST_F(AllowanceTest, U12ALimitOfWhichAnAnswerSaidNothingIsNotTakenForEmpty) {
  Allowance two(milliseconds(1000), {PerSecond(10).Burst(1000), PerSecond(10).Burst(1000)});
  for (int i = 0; i < 8; ++i) {
    const Millis need{1000, 0};
    two.Want(need, AtMillis(i));
    EXPECT_TRUE(two.Ask(need, AtMillis(i)).debit);
    two.OnDebited(Millis{0, Allowance::kNotSeen}, AtMillis(i));
    EXPECT_EQ(two.Ask(need, AtMillis(i)).verdict, Verdict::kSpent);
  }
  EXPECT_EQ(two.Ask(Millis{1000, 0}, AtMillis(9)).verdict, Verdict::kRefused);
  EXPECT_TRUE(two.Ask(Millis{0, 1000}, AtMillis(9)).debit);
}

TEST_F(AllowanceTest, AFailureSendsRequestsToTheStoreForAWhile) {
  Ask(5, AtMillis(0));
  allowance_.OnFailed(AtMillis(10));
  EXPECT_EQ(Ask(1, AtMillis(509)).verdict, Verdict::kCallStore);
  EXPECT_EQ(Ask(1, AtMillis(510)).verdict, Verdict::kWait);
}

TEST_F(AllowanceTest, AfterTheFirstEightDebitsTheyAreHalfALifetimeApart) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(Ask(1, AtMillis(i)).debit);
    Debited(0, AtMillis(i));
    EXPECT_EQ(allowance_.Ask(Millis{1000}, AtMillis(i)).verdict, Verdict::kSpent);
  }
  const auto step = Ask(1, AtMillis(8));
  EXPECT_EQ(step.verdict, Verdict::kRefused);
  EXPECT_EQ(step.retry_at, AtMillis(500));
  EXPECT_TRUE(Ask(1, AtMillis(500)).debit);
}

TEST_F(AllowanceTest, LooksAheadWhenItRunsLowButNotForASingleRequest) {
  Hold(1, AtMillis(0));
  EXPECT_FALSE(allowance_.Ask(Millis{1000}, AtMillis(0)).debit) << "one request and no more";
  for (int i = 0; i < 20; ++i) Ask(1, AtMillis(10));
  ASSERT_EQ(Debit(), 2);
  Debited(1000, AtMillis(11));
  EXPECT_FALSE(allowance_.Ask(Millis{1000}, AtMillis(11)).debit);
  EXPECT_TRUE(allowance_.Ask(Millis{1000}, AtMillis(11)).debit)
      << "the last one, and many came lately";
  EXPECT_EQ(Debit(), 21);
}

TEST_F(AllowanceTest, WhatIsUnusedComesBackLessWhatTheRateHasBrought) {
  Hold(100, AtMillis(0));
  EXPECT_TRUE(allowance_.Wake(AtMillis(249)).returns.empty());
  const auto leaving = allowance_.Wake(AtMillis(250));
  ASSERT_EQ(leaving.returns.size(), 1U);
  EXPECT_EQ(leaving.returns[0].deadline, AtMillis(500));
  EXPECT_THAT(leaving.returns[0].amounts, ElementsAre(95'000)) << "10 a second, half a second";
  EXPECT_EQ(leaving.forfeited, 5'000);
  EXPECT_EQ(Held(AtMillis(250)), 0);
}

TEST_F(AllowanceTest, WhatIsNotWorthItsWayStaysUntilItsTimeIsOver) {
  Hold(5, AtMillis(0));
  EXPECT_TRUE(allowance_.Wake(AtMillis(250)).returns.empty());
  EXPECT_EQ(Held(AtMillis(250)), 5'000);
  EXPECT_EQ(allowance_.Wake(AtMillis(750)).forfeited, 5'000);
  EXPECT_FALSE(allowance_.idle(AtMillis(1999)));
  EXPECT_TRUE(allowance_.idle(AtMillis(2000)));
}

TEST_F(AllowanceTest, DroppedItGivesAllBack) {
  Hold(100, AtMillis(0));
  const auto leaving = allowance_.Drop(AtMillis(1));
  ASSERT_EQ(leaving.returns.size(), 1U);
  EXPECT_EQ(Held(AtMillis(1)), 0);
}

/// A reference implementation: keeps every debit and scans all of them.
class SlowAllowance {
 public:
  SlowAllowance(milliseconds lifetime, std::vector<Quota> quotas)
      : lifetime_(lifetime), quotas_(std::move(quotas)), spent_(quotas_.size()) {}

  Millis Held(Instant now) const {
    Millis held(quotas_.size());
    for (const auto& [sent, left] : lots_) {
      if (4 * (now - sent) >= 3 * nanoseconds(lifetime_)) continue;
      for (std::size_t i = 0; i < held.size(); ++i) held[i] += left[i];
    }
    return held;
  }
  void Add(Instant sent, Allowance::View amounts) {
    lots_.emplace(sent, Millis(amounts.begin(), amounts.end()));
  }
  bool Spend(Allowance::View need, Instant now) {
    const Millis held = Held(now);
    for (std::size_t i = 0; i < need.size(); ++i) {
      if (need[i] > held[i]) return false;
    }
    for (auto& [sent, left] : lots_) {
      if (4 * (now - sent) >= 3 * nanoseconds(lifetime_)) continue;
      for (std::size_t i = 0; i < need.size(); ++i) {
        const std::int64_t part = std::min(left[i], need[i] - spent_[i]);
        left[i] -= part;
        spent_[i] += part;
      }
    }
    std::ranges::fill(spent_, 0);
    return true;
  }
  /// Removes a kept debit that could return this much. Returns false if there is none.
  bool MayReturn(const Allowance::Return& back) {
    for (auto lot = lots_.begin(); lot != lots_.end(); ++lot) {
      bool may = true;
      const std::int64_t age = (back.deadline - lot->first).count();
      for (std::size_t i = 0; i < quotas_.size(); ++i) {
        const double brought = static_cast<double>(quotas_[i].amount) * static_cast<double>(age) /
                               (1e6 * static_cast<double>(quotas_[i].period));
        may = may && (back.amounts[i] == 0 || static_cast<double>(back.amounts[i]) + brought <=
                                                  static_cast<double>(lot->second[i]) + 0.001);
      }
      if (!may) continue;
      lots_.erase(lot);
      return true;
    }
    return false;
  }
  std::int64_t All() const {
    std::int64_t all = 0;
    for (const auto& [sent, left] : lots_) all += std::accumulate(left.begin(), left.end(), 0LL);
    return all;
  }
  /// Removes the expired debits.
  void Forget(Instant now) {
    std::erase_if(lots_, [&](const auto& lot) {
      return 4 * (now - lot.first) >= 3 * nanoseconds(lifetime_);
    });
  }

 private:
  milliseconds lifetime_;
  std::vector<Quota> quotas_;
  std::multimap<Instant, Millis> lots_;
  Millis spent_;
};

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed)
      : rng_(seed),
        lifetime_(rng_.Between(20, 2000)),
        quotas_{{rng_.Between(5'000, 500'000), rng_.Between(1, 100'000), rng_.Between(1, 1000)},
                {rng_.Between(5'000, 500'000), rng_.Between(1, 100'000), 1000}},
        allowance_(lifetime_, quotas_),
        slow_(lifetime_, quotas_) {}

  void Go() {
    for (int i = 0; i < 400; ++i) {
      now_ = now_ + nanoseconds(rng_.Between(
                        0, rng_.Chance(0.05) ? lifetime_.count() * 1'000'000 : 3'000'000));
      Step();
      ASSERT_EQ(allowance_.Held(now_), slow_.Held(now_));
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
    Count(allowance_.Drop(now_));
    ASSERT_EQ(debited_, spent_ + returned_ + forfeited_) << "no token is lost or minted";
    CheckSpacing();
  }

  std::size_t spends = 0, debits = 0, returns = 0, refusals = 0;

 private:
  void Step() {
    if (sent_ && rng_.Chance(0.3)) return Complete();
    if (rng_.Chance(0.1)) return Count(allowance_.Wake(now_));
    const Millis need{rng_.Between(0, 2'000), rng_.Between(0, 1'000)};
    allowance_.Want(need, now_);
    Ask(need);
  }

  void Ask(const Millis& need) {
    const Millis held = slow_.Held(now_);
    const bool covered = slow_.Spend(need, now_);
    const bool tells = allowance_.CanDecide(need, allowance_.Held(now_), now_);
    const auto step = allowance_.Ask(need, now_);
    ASSERT_EQ(step.verdict == Verdict::kSpent, covered);
    ASSERT_EQ(tells, covered || step.verdict == Verdict::kRefused);
    if (covered) spent_ += need[0] + need[1];
    spends += covered;
    if (step.verdict == Verdict::kRefused) {
      ++refusals;
      ASSERT_GT(step.retry_at, now_);
    }
    if (!step.debit) return;
    ASSERT_FALSE(sent_) << "one at a time";
    sent_ = now_;
    const bool out_of_turn = step.verdict == Verdict::kWait && HaveMore(need, held);
    ASSERT_TRUE(out_of_turn || now_ >= until_) << "sent before the instant that a refusal told";
    if (!out_of_turn) sendings_.push_back(now_);
  }

  /// Returns whether the bucket was known to have the missing tokens of each limit, and more than
  /// the refill of two spacings.
  bool HaveMore(const Millis& need, const Millis& held) const {
    for (std::size_t i = 0; i < 2; ++i) {
      const double spacing = std::min(static_cast<double>(lifetime_.count()) / 2, 1000.0);
      const double comes = 2 * spacing * static_cast<double>(quotas_[i].amount) /
                           static_cast<double>(quotas_[i].period);
      const std::int64_t missing = need[i] - held[i];
      if (missing <= 0) continue;
      if (left_[i] < missing || static_cast<double>(left_[i]) <= comes) return false;
    }
    return true;
  }

  void Complete() {
    const Millis available{rng_.Between(0, quotas_[0].capacity),
                           rng_.Between(0, quotas_[1].capacity)};
    for (std::size_t i = 0; i < 2; ++i) ASSERT_LE(allowance_.debit()[i], quotas_[i].capacity);
    const Instant sent = *std::exchange(sent_, std::nullopt);
    if (rng_.Chance(0.2)) return allowance_.OnFailed(now_);
    if (rng_.Chance(0.2)) {
      const Instant until = now_ + nanoseconds(rng_.Between(1, 50'000'000));
      until_ = std::min(until, sent + milliseconds(1000));
      left_ = available;
      return allowance_.OnRefused(available, until, now_);
    }
    ++debits;
    const auto debit = allowance_.debit();
    debited_ += debit[0] + debit[1];
    slow_.Add(sent, debit);
    for (std::size_t i = 0; i < 2; ++i) left_[i] = available[i] - debit[i];
    allowance_.OnDebited(available, now_);
  }

  void Count(const Allowance::Departures& leaving) {
    for (const Allowance::Return& back : leaving.returns) {
      ++returns;
      returned_ += back.amounts[0] + back.amounts[1];
      ASSERT_GE(back.deadline, now_);
      ASSERT_TRUE(slow_.MayReturn(back)) << "more than the bucket would hold without the debit";
    }
    forfeited_ += leaving.forfeited;
    slow_.Forget(now_);
  }

  void CheckSpacing() const {
    const nanoseconds spacing = std::min(nanoseconds(lifetime_) / 2, nanoseconds(1'000'000'000));
    for (std::size_t i = 0; i < sendings_.size(); ++i) {
      for (std::size_t j = i; j < sendings_.size(); ++j) {
        const auto most = 8 + (sendings_[j] - sendings_[i]) / spacing;
        ASSERT_LE(static_cast<std::int64_t>(j - i + 1), most) << "too many debits in turn";
      }
    }
  }

  Rng rng_;
  milliseconds lifetime_;
  std::vector<Quota> quotas_;
  Allowance allowance_;
  SlowAllowance slow_;
  Instant now_ = kStart;
  Instant until_ = kStart;
  Millis left_{INT64_MAX, INT64_MAX};  ///< balance after the last result
  std::optional<Instant> sent_;
  std::vector<Instant> sendings_;
  std::int64_t debited_ = 0, spent_ = 0, returned_ = 0, forfeited_ = 0;
};

// Fails if: IsUsable compares with the lifetime instead of three quarters of it; AddReturn does not
// subtract the refill, or does not count it as forfeited; Spend takes from an expired lot;
// BeginDebit does not count a debit against its spacing.
TEST(AllowanceProperty, IsWhatTheObviousVersionIs) {
  std::size_t spends = 0, debits = 0, returns = 0, refusals = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    RandomRun run(seed);
    run.Go();
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
    spends += run.spends;
    debits += run.debits;
    returns += run.returns;
    refusals += run.refusals;
  }
  EXPECT_GT(spends, 2000U);
  EXPECT_GT(debits, 2000U);
  EXPECT_GT(returns, 100U);
  EXPECT_GT(refusals, 2000U);
}

}  // namespace
}  // namespace weir
