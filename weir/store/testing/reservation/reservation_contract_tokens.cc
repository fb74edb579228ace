// Tokens of accounts.
#include "weir/base/bucket_time.h"
#include "weir/bucket/testing/reference_bucket.h"
#include "weir/store/testing/reservation/reservation_contract.h"

namespace weir {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Ten tokens, of which one comes back each second.
constexpr AccountLimit kTen{.limit = 10, .window = 10s};

TEST_P(TokenContract, ANewBucketIsFull) {
  const AccountKey key = FreshKey();
  for (std::int64_t left = 9; left >= 0; --left) {
    EXPECT_EQ(Take(key, kTen, 1, start_).available, left);
  }
  EXPECT_FALSE(Take(key, kTen, 1, start_).taken);
  EXPECT_TRUE(Take(FreshKey(), kTen, 10, start_).taken);
}

TEST_P(TokenContract, TokensComeBackOneByOne) {
  const AccountKey key = FreshKey();
  ASSERT_TRUE(Take(key, kTen, 10, start_).taken);
  EXPECT_EQ(Take(key, kTen, 1, start_ + 1s).available, 0);
  EXPECT_FALSE(Take(key, kTen, 1, start_ + 1999ms).taken);
  EXPECT_EQ(Take(key, kTen, 1, start_ + 5500ms).available, 3);
  EXPECT_EQ(Take(key, kTen, 1, start_ + 6s).available, 3) << "half a token was kept";
  EXPECT_EQ(Take(key, kTen, 1, start_ + 1000s).available, 9) << "no more than the limit";
}

TEST_P(TokenContract, ARefusalTakesNothing) {
  const AccountKey key = FreshKey();
  ASSERT_TRUE(Take(key, kTen, 8, start_).taken);
  for (int i = 0; i < 3; ++i) {
    const TokenResult refused = Take(key, kTen, 3, start_);
    EXPECT_FALSE(refused.taken);
    EXPECT_EQ(refused.available, 2);
    EXPECT_EQ(refused.retry_after, 1000ms);
  }
  EXPECT_EQ(Take(key, kTen, 2, start_).available, 0);
}

// 3 tokens in 7 s: no token comes back at a whole number of milliseconds.
TEST_P(TokenContract, RetryAfterIsExact) {
  const AccountLimit limit{.limit = 3, .window = 7s};
  UnixMillis now = start_;
  const AccountKey key = FreshKey();
  ASSERT_TRUE(Take(key, limit, 3, now).taken);
  for (int i = 0; i < 6; ++i) {
    const std::int64_t count = 1 + i % 3;
    const milliseconds wait = Take(key, limit, count, now).retry_after;
    ASSERT_GT(wait, 0ms);
    EXPECT_EQ(Take(key, limit, count, now + wait - 1ms).retry_after, 1ms);
    now = now + wait;
    EXPECT_TRUE(Take(key, limit, count, now).taken);
  }
  EXPECT_LE(now, start_ + 28s + 1ms) << "12 tokens, and nothing lost between them";
}

TEST_P(TokenContract, TimeThatRunsBackwardsGivesNothing) {
  const AccountKey key = FreshKey();
  ASSERT_TRUE(Take(key, kTen, 10, start_).taken);
  for (const milliseconds back : {1ms, 10'000ms, kMaxAhead}) {
    EXPECT_FALSE(Take(key, kTen, 1, start_ - back).taken);
  }
  // Tokens do not come back twice when the clock is right again.
  EXPECT_FALSE(Take(key, kTen, 1, start_ + 999ms).taken);
  EXPECT_EQ(Take(key, kTen, 1, start_ + 1s).available, 0);
}

// Fails if: a store forgets a full bucket while a call waits that began when the bucket was empty.
TEST_P(TokenContract, ATakeThatWaitedGetsNoTokensTwice) {
  const AccountLimit ten{.limit = 10, .window = 1s};
  const AccountKey key = FreshKey();
  ASSERT_TRUE(Take(key, ten, 10, start_).taken);
  const UnixMillis later = start_ + 1'050ms;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Take(FreshKey(), ten, 10, later).taken);
  EXPECT_FALSE(Take(key, ten, 10, start_ + 50ms).taken);
  EXPECT_TRUE(Take(key, ten, 10, later).taken);
  EXPECT_FALSE(Take(key, ten, 1, later).taken);
}

// Fails if: lowering and raising a limit adds tokens.
TEST_P(TokenContract, AnotherLimitKeepsWhatIsUsed) {
  const AccountKey key = FreshKey();
  ASSERT_TRUE(Take(key, {.limit = 100, .window = 60s}, 30, start_).taken);
  EXPECT_EQ(Take(key, {.limit = 50, .window = 60s}, 1, start_).available, 19);
  EXPECT_EQ(Take(key, {.limit = 200, .window = 60s}, 1, start_).available, 168);
  EXPECT_EQ(Take(key, {.limit = 10, .window = 60s}, 1, start_).available, -22);
  EXPECT_EQ(Take(key, {.limit = 100, .window = 60s}, 1, start_).available, 67);
  EXPECT_EQ(Take(key, {.limit = 100, .window = 6s}, 1, start_).available, 66);
  EXPECT_EQ(Take(key, {.limit = 100, .window = 6s}, 1, start_ + 60ms).available, 66);
}

TEST_P(TokenContract, HugeLimitsAreExact) {
  const AccountKey key = FreshKey();
  const AccountLimit huge{.limit = kMaxAccountTokens, .window = kLongestWindow};
  EXPECT_EQ(Take(key, huge, kMaxAccountTokens, start_).available, 0);
  // 284,609 tokens and a fraction come back in a second.
  EXPECT_EQ(Take(key, huge, 1, start_ + 1s).available, 284'607);
}

TEST_P(TokenContract, KeysThatLookAlikeWhenJoinedAreApart) {
  const std::string stem = Fresh("a");
  ASSERT_TRUE(Take({.resource = stem + ":b", .account = "c"}, kTen, 10, start_).taken);
  EXPECT_TRUE(Take({.resource = stem, .account = "b:c"}, kTen, 10, start_).taken);
  EXPECT_TRUE(Take({.resource = stem + "b:", .account = "c"}, kTen, 10, start_).taken);
}

TEST_P(TokenContract, BadTakesAreRefusedAndChangeNothing) {
  const AccountKey key = FreshKey();
  const auto code = [&](const AccountKey& of, AccountLimit limit, std::int64_t count) {
    return ErrorOf(store_.Take(of, limit, count, start_)).code;
  };
  EXPECT_EQ(code(key, kTen, 0), Code::kInvalidArgument);
  EXPECT_EQ(code(key, kTen, -1), Code::kInvalidArgument);
  EXPECT_EQ(code(key, kTen, 11), Code::kInvalidArgument) << "never, not later";
  EXPECT_EQ(code(key, {.limit = 10, .window = 0s}, 1), Code::kInvalidArgument);
  EXPECT_EQ(code(key, {.limit = 10, .window = -1s}, 1), Code::kInvalidArgument);
  EXPECT_EQ(code(key, {.limit = 0, .window = 10s}, 1), Code::kInvalidArgument) << "blocked";
  EXPECT_EQ(code(key, {.limit = -5, .window = 10s}, 1), Code::kInvalidArgument) << "blocked";
  EXPECT_EQ(code(key, {.limit = kMaxAccountTokens + 1, .window = 10s}, 1), Code::kInvalidArgument);
  EXPECT_EQ(code({.resource = "", .account = "a"}, kTen, 1), Code::kInvalidArgument);
  EXPECT_TRUE(Take(key, kTen, 10, start_).taken);
}

struct Ask {
  milliseconds wait;  // since the request before
  int per_mille;      // a part of the limit, in thousandths
};

std::ostream& operator<<(std::ostream& out, const Ask& ask) {
  return out << "\n  +" << ask.wait.count() << " ms: " << ask.per_mille << " per mille";
}

rc::Gen<std::vector<Ask>> AnyAsks() {
  const auto wait = rc::gen::map(
      rc::gen::weightedElement<std::int64_t>(
          {{4, 0}, {4, 1}, {4, 7}, {4, 333}, {4, 1000}, {2, 60'000}, {1, 500'000'000}}),
      [](std::int64_t millis) { return milliseconds(millis); });
  return rc::gen::container<std::vector<Ask>>(
      rc::gen::construct<Ask>(wait, rc::gen::resize(100, rc::gen::inRange(0, 1000))));
}

AccountLimit AnyAccountLimit() {
  return {.limit = *rc::gen::element<std::int64_t>(1, 2, 3, 5, 7, 10, 100, 999, 86'400,
                                                   kMaxAccountTokens),
          .window = *rc::gen::element(std::chrono::seconds(1), std::chrono::seconds(3),
                                      std::chrono::seconds(7), std::chrono::seconds(60),
                                      std::chrono::seconds(86'400), kLongestWindow)};
}

// Finds the smallest whole wait by bisection.
milliseconds WaitOf(const ReferenceLimit& limit, std::int64_t amount) {
  std::int64_t refused = -1;
  std::int64_t taken = limit.quota.period + 1;
  while (taken - refused > 1) {
    const std::int64_t middle = refused + (taken - refused) / 2;
    ReferenceLimit later = limit;
    later.Pass(middle);
    (later.Admits(amount) ? taken : refused) = middle;
  }
  return milliseconds(taken);
}

// Fails if: a part of a token is lost or created at a take, a refusal or a refill.
TEST_P(TokenContract, AnyAsksAgreeWithExactFractions) {
  CheckProperty([this] {
    const AccountLimit limit = AnyAccountLimit();
    const AccountKey key = FreshKey();
    const Quota quota = PerPeriod(limit.limit, limit.window);
    ReferenceLimit model{.quota = quota, .level = Fraction(quota.capacity)};
    UnixMillis now = start_;
    for (const Ask& ask : *AnyAsks()) {
      now = now + ask.wait;
      model.Pass(ask.wait.count());
      const std::int64_t count =
          1 + limit.limit / 1000 * ask.per_mille + limit.limit % 1000 * ask.per_mille / 1000;
      const milliseconds wait = WaitOf(model, count * kMillitokens);
      if (wait == 0ms) model.Change(count * kMillitokens);
      const TokenResult result = Take(key, limit, count, now);
      RC_ASSERT(result.taken == (wait == 0ms));
      RC_ASSERT(result.retry_after == wait);
      const WideInt whole = (model.level + Fraction(0)).floor() / kMillitokens;
      RC_ASSERT(result.available == static_cast<std::int64_t>(whole));
    }
  });
}

// Fails if: in any interval, more tokens are taken than the limit and those that came back.
TEST_P(TokenContract, NoSpanTakesMoreThanTheLimitAndItsRate) {
  CheckProperty([this] {
    const AccountLimit limit{.limit = *rc::gen::inRange(1, 20),
                             .window = std::chrono::seconds(*rc::gen::inRange(1, 10))};
    const AccountKey key = FreshKey();
    UnixMillis now = start_;
    std::vector<std::pair<UnixMillis, std::int64_t>> taken;
    for (const Ask& ask : *AnyAsks()) {
      now = now + ask.wait;
      const std::int64_t count = 1 + (limit.limit - 1) * ask.per_mille / 1000;
      if (Take(key, limit, count, now).taken) taken.emplace_back(now, count);
    }
    for (std::size_t from = 0; from < taken.size(); ++from) {
      std::int64_t sum = 0;
      for (std::size_t to = from; to < taken.size(); ++to) {
        sum += taken[to].second;
        const std::int64_t span = (taken[to].first - taken[from].first).count();
        RC_ASSERT((sum - limit.limit) * milliseconds(limit.window).count() <= limit.limit * span);
      }
    }
  });
}

}  // namespace
}  // namespace weir
