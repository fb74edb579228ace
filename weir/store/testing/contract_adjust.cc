// Corrections: debt, returns, and ids that count once.
#include <chrono>
#include <utility>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST_P(StoreContract, AdjustLeavesDebtAndRefillRepaysIt) {
  const TargetPtr acme = FreshTarget({Rpm(60), Tpm(600)});
  ASSERT_TRUE(Ask({Tokens(acme, {60, 100})}, kStart).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {30, 0})}, kStart));
  EXPECT_EQ(Balance(acme, kStart), (Balances{-30'000, 500'000}));
  const Decision refused = Ask({Tokens(acme, {1, 1})}, kStart);
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.retry_after, 31s);
  EXPECT_EQ(Balance(acme, kStart + 30s)[0], 0);
  EXPECT_FALSE(Ask({Tokens(acme, {1, 1})}, kStart + 30'999ms).admitted);
  EXPECT_TRUE(Ask({Tokens(acme, {1, 1})}, kStart + 31s).admitted);
}

TEST_P(StoreContract, AdjustCountsFromWhatIsThereByThen) {
  const TargetPtr acme = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(acme, {1})}, kStart).admitted);
  // The bucket was full long before, so past time must not repay tokens that are taken now.
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {5})}, kStart + 10s));
  EXPECT_EQ(Balance(acme, kStart + 10s), Balances{55'000});
}

TEST_P(StoreContract, GivingBackStopsAtTheCapacity) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  ASSERT_TRUE(Ask({Tokens(acme, {5, 5})}, kStart).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {-3, -6})}, kStart));
  EXPECT_EQ(Balance(acme, kStart), (Balances{8000, 1'000'000}));
}

TEST_P(StoreContract, AdjustOfAnUnknownBucketFindsItFull) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {4, -4})}, kStart));
  EXPECT_EQ(Balance(acme, kStart), (Balances{6000, 1'000'000}));
}

TEST_P(StoreContract, AdjustCountsOnceForEachToken) {
  const TargetPtr child = FreshTarget({Rpm(10), Tpm(1000)});
  const TargetPtr parent = FreshTarget({Rpm(100)});
  const std::vector<Charge> charges = {Tokens(child, {2, 50}), Tokens(parent, {2})};
  const AdjustId token = store_.NewAdjustId();
  ASSERT_TRUE(store_.Adjust(charges, token, kStart));
  // The id is repeated at once, later, and after other adjusts.
  ASSERT_TRUE(store_.Adjust(charges, token, kStart));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(store_.Adjust({Tokens(parent, {1})}, kStart));
  ASSERT_TRUE(store_.Adjust(charges, token, kStart + 1ms));
  EXPECT_EQ(Balance(child, kStart), (Balances{8000, 950'000}));
  EXPECT_EQ(Balance(parent, kStart), Balances{48'000});
}

TEST_P(StoreContract, TokensThatDifferInOneHalfAreTwo) {
  const TargetPtr acme = FreshTarget({Rpm(10)});
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {1})}, AdjustId{.high = 7, .low = 7}, kStart));
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {1})}, AdjustId{.high = 8, .low = 7}, kStart));
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {1})}, AdjustId{.high = 7, .low = 8}, kStart));
  EXPECT_EQ(Balance(acme, kStart), Balances{7000});
}

// Returns adjusts that together lead from `capacity` to the largest debt, less 1 millitoken.
std::vector<std::int64_t> StepsToTheLastMillitoken(std::int64_t capacity) {
  std::int64_t left = kMaxDebt + capacity - 1;
  std::vector<std::int64_t> steps;
  for (; left > kMaxMillitokens; left -= kMaxMillitokens) steps.push_back(kMaxMillitokens);
  steps.push_back(left);
  return steps;
}

TEST_P(StoreContract, DebtEndsAtItsBoundAndNothingChangesBeyond) {
  const TargetPtr deep = FreshTarget({Rpm(10)});
  const TargetPtr child = FreshTarget({Rpm(10)});
  for (const std::int64_t step : StepsToTheLastMillitoken(10'000)) {
    ASSERT_TRUE(store_.Adjust({Milli(deep, {step})}, kStart));
  }
  const std::vector<Charge> beyond = {Tokens(child, {3}), Milli(deep, {2})};
  const AdjustId token = store_.NewAdjustId();
  EXPECT_EQ(ErrorOf(store_.Adjust(beyond, token, kStart)).code, Code::kOutOfRange);
  EXPECT_EQ(Balance(child, kStart), Balances{10'000});
  EXPECT_EQ(Balance(deep, kStart), Balances{1 - kMaxDebt});
  // An adjust that failed may be sent again, and counts once when it fits.
  ASSERT_TRUE(store_.Adjust({Milli(deep, {-1})}, kStart));
  ASSERT_TRUE(store_.Adjust(beyond, token, kStart));
  ASSERT_TRUE(store_.Adjust(beyond, token, kStart));
  EXPECT_EQ(Balance(child, kStart), Balances{7000});
  EXPECT_EQ(Balance(deep, kStart), Balances{-kMaxDebt});
}

TEST_P(StoreContract, BadAdjustsAreRefusedAndChangeNothing) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  const TargetPtr globex = FreshTarget({Rpm(10), Tpm(1000)});
  std::vector<Charge> too_many = {Tokens(acme, {1, 1})};
  while (too_many.size() <= kMaxCharges) too_many.push_back(Tokens(FreshTarget({Rpm(10)}), {1}));
  const Charge good = Tokens(acme, {1, 1});
  const std::vector<std::pair<const char*, std::vector<Charge>>> bad = {
      {"no charge", {}},
      {"too large", {good, Milli(globex, {kMaxMillitokens + 1, 0})}},
      {"too small", {good, Milli(globex, {-kMaxMillitokens - 1, 0})}},
      {"an amount is missing", {good, Tokens(globex, {1})}},
      {"an amount too many", {good, Tokens(globex, {1, 1, 1})}},
      {"one bucket twice", {good, Tokens(globex, {1, 1}), good}},
      {"too many", too_many},
  };
  for (const auto& [what, charges] : bad) {
    SCOPED_TRACE(what);
    EXPECT_EQ(ErrorOf(store_.Adjust(charges, kStart)).code, Code::kInvalidArgument);
  }
  EXPECT_EQ(Balance(acme, kStart), (Balances{10'000, 1'000'000}));
  EXPECT_EQ(Balance(globex, kStart), (Balances{10'000, 1'000'000}));
}

}  // namespace
}  // namespace weir
