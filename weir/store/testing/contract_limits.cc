// Changed limits that reach a bucket without an admitted or refused request: by adjusts and looks.
#include <chrono>
#include <utility>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// The same bucket under other limits.
TargetPtr Relimited(const TargetPtr& target, std::vector<Limit> limits) {
  return MakeTarget(target->key, std::move(limits));
}

class LimitsContract {
 public:
  explicit LimitsContract(ContractClient& store) : store_(store) {}

  Status Debit(std::vector<Charge> charges, UnixMillis now, AdjustTerms terms) {
    terms.stores_limits = true;
    return store_.Adjust(std::move(charges), terms, now);
  }
  Status Debit(std::vector<Charge> charges, UnixMillis now) {
    return Debit(std::move(charges), now, store_.NewAdjustId());
  }
  // The stored parameters of the only configured limit.
  Quota Stored(const TargetPtr& target) {
    const auto records = store_.Read({target->key});
    const bool is_there = records && records->front() && !records->front()->names.empty();
    EXPECT_TRUE(is_there);
    return is_there ? records->front()->bucket.meters[0].quota : Quota();
  }

 private:
  ContractClient& store_;
};

// Fails if: a debit leaves the old rate in force.
TEST_P(StoreContract, DebitThatStoresLimitsChangesTheRate) {
  LimitsContract limits(store_);
  const TargetPtr acme = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(acme, {60})}, kStart).admitted);
  const TargetPtr slower = Relimited(acme, {Rpm(6)});
  ASSERT_TRUE(limits.Debit({Tokens(slower, {1})}, kStart + 10s));
  EXPECT_EQ(limits.Stored(acme), PerMinute(6));
  // 61 are used, and 10 have come back at the old rate. One comes back at the new rate.
  EXPECT_EQ(Balance(slower, kStart + 20s), Balances{-44'000});
}

TEST_P(StoreContract, DebitThatStoresLimitsChangesEachOfItsBuckets) {
  LimitsContract limits(store_);
  const TargetPtr child = FreshTarget({Rpm(60), Tpm(600)});
  const TargetPtr parent = FreshTarget({Rpm(90)});
  ASSERT_TRUE(Ask({Tokens(child, {30, 0}), Tokens(parent, {30})}, kStart).admitted);
  const TargetPtr other_child = Relimited(child, {{"daily", PerDay(5)}, Rpm(40)});
  const TargetPtr other_parent = Relimited(parent, {Rpm(80)});
  ASSERT_TRUE(limits.Debit({Tokens(other_child, {1, 2}), Tokens(other_parent, {-3})}, kStart));
  EXPECT_EQ(Balance(other_child, kStart), (Balances{4000, 8000}));
  EXPECT_EQ(Balance(other_parent, kStart), Balances{53'000});
  const auto records = store_.Read({child->key, parent->key});
  ASSERT_TRUE(records && records->at(0) && records->at(1));
  EXPECT_EQ(records->at(0)->names.size(), 2U);
  EXPECT_EQ(records->at(1)->bucket.meters[0].quota, PerMinute(80));
}

// A lease may be older than the limits of its bucket.
TEST_P(StoreContract, AdjustThatStoresNoLimitsKeepsTheRate) {
  LimitsContract limits(store_);
  const TargetPtr acme = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(acme, {60})}, kStart).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(Relimited(acme, {Rpm(6)}), {1})}, kStart));
  EXPECT_EQ(limits.Stored(acme), PerMinute(60));
  EXPECT_EQ(Balance(acme, kStart + 10s), Balances{9000});
}

TEST_P(StoreContract, OverridesAreNotStoredByADebit) {
  LimitsContract limits(store_);
  const TargetPtr acme = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(acme, {60})}, kStart).admitted);
  const TargetPtr given = MakeTarget(acme->key, {Rpm(6)}, LimitSource::kOverride);
  ASSERT_TRUE(limits.Debit({Tokens(given, {1})}, kStart));
  EXPECT_EQ(limits.Stored(acme), PerMinute(60));
  EXPECT_EQ(Balance(acme, kStart + 10s), Balances{9000});
}

// Fails if: a debit whose response was lost undoes a later change of limits.
TEST_P(StoreContract, RepeatedDebitStoresNoLimits) {
  LimitsContract limits(store_);
  const TargetPtr acme = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(acme, {60})}, kStart).admitted);
  const AdjustId id = store_.NewAdjustId();
  const std::vector<Charge> debit = {Tokens(Relimited(acme, {Rpm(6)}), {1})};
  ASSERT_TRUE(limits.Debit(debit, kStart, id));
  const TargetPtr latest = Relimited(acme, {Rpm(100)});
  ASSERT_TRUE(Ask({Tokens(latest, {1})}, kStart).admitted);
  ASSERT_TRUE(limits.Debit(debit, kStart, id));
  EXPECT_EQ(limits.Stored(acme), PerMinute(100));
  EXPECT_EQ(Balance(latest, kStart), Balances{38'000});
}

TEST_P(StoreContract, DebitOfAnUnknownBucketBeginsItUnderItsLimits) {
  LimitsContract limits(store_);
  const TargetPtr acme = FreshTarget({Rpm(60)});
  ASSERT_TRUE(limits.Debit({Tokens(acme, {70})}, kStart));
  EXPECT_EQ(limits.Stored(acme), PerMinute(60));
  EXPECT_EQ(Balance(acme, kStart), Balances{-10'000});
}

// Fails if: a bucket that is only looked at waits at the rate of its old limits.
TEST_P(StoreContract, LookAtAnEmptyBucketStoresTheLimits) {
  LimitsContract limits(store_);
  const TargetPtr acme = FreshTarget({Rpm(6)});
  ASSERT_TRUE(Ask({Tokens(acme, {6})}, kStart).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {100})}, kStart));
  const TargetPtr faster = Relimited(acme, {Rpm(60)});
  EXPECT_EQ(Balance(faster, kStart + 10s), Balances{-45'000}) << "one came back at the old rate";
  EXPECT_EQ(limits.Stored(acme), PerMinute(60));
  EXPECT_EQ(Balance(faster, kStart + 40s), Balances{-15'000});
}

// Fails if: looks store limits as long as the caller takes them for admissions.
TEST_P(StoreContract, LookStoresLimitsIfLessThanOneTokenIsLeft) {
  LimitsContract limits(store_);
  const TargetPtr acme = FreshTarget({{"rpd", PerDay(60)}});
  const TargetPtr other = Relimited(acme, {{"rpd", PerDay(50)}});
  ASSERT_TRUE(Ask({Tokens(acme, {49})}, kStart).admitted);
  EXPECT_EQ(Balance(other, kStart), Balances{1000});
  EXPECT_EQ(limits.Stored(acme), PerDay(60));
  ASSERT_TRUE(store_.Adjust({Milli(acme, {1})}, kStart));
  EXPECT_EQ(Balance(other, kStart), Balances{999});
  EXPECT_EQ(limits.Stored(acme), PerDay(50));
}

TEST_P(StoreContract, LookStoresLimitsInTheEmptyOnesOfItsBuckets) {
  LimitsContract limits(store_);
  const TargetPtr child = FreshTarget({Rpm(60)});
  const TargetPtr parent = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(child, {60}), Tokens(parent, {10})}, kStart).admitted);
  const Charge look_at_child = Milli(Relimited(child, {Rpm(50)}), {0});
  const Charge look_at_parent = Milli(Relimited(parent, {Rpm(50)}), {0});
  EXPECT_TRUE(Ask({look_at_child, look_at_parent}, kStart).admitted);
  EXPECT_EQ(limits.Stored(child), PerMinute(50));
  EXPECT_EQ(limits.Stored(parent), PerMinute(60));
}

TEST_P(StoreContract, LookUnderLimitsOfARequestStoresNothing) {
  LimitsContract limits(store_);
  const TargetPtr acme = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(acme, {60})}, kStart).admitted);
  const TargetPtr given = MakeTarget(acme->key, {Rpm(50)}, LimitSource::kOverride);
  EXPECT_TRUE(Ask({Milli(given, {0})}, kStart).admitted);
  EXPECT_EQ(limits.Stored(acme), PerMinute(60));
}

// Fails if: a charge without amounts stores limits in a request that takes tokens elsewhere.
TEST_P(StoreContract, AmountsOfZeroStoreLimitsOnlyIfTheRequestIsRefused) {
  LimitsContract limits(store_);
  const TargetPtr child = FreshTarget({Rpm(60)});
  const TargetPtr parent = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(child, {10}), Tokens(parent, {60})}, kStart).admitted);
  const Charge look_at_parent = Milli(Relimited(parent, {Rpm(50)}), {0});
  EXPECT_TRUE(Ask({Tokens(child, {1}), look_at_parent}, kStart).admitted);
  EXPECT_EQ(limits.Stored(parent), PerMinute(60));
  EXPECT_FALSE(Ask({Tokens(child, {60}), look_at_parent}, kStart).admitted);
  EXPECT_EQ(limits.Stored(parent), PerMinute(50));
}

// Fails if: a late adjust counts in one of its buckets, or stores its limits.
TEST_P(StoreContract, AdjustThatArrivesTooLateChangesNothing) {
  LimitsContract limits(store_);
  const TargetPtr acme = FreshTarget({Rpm(60)});
  const TargetPtr fresh = FreshTarget({Rpm(60)});
  ASSERT_TRUE(Ask({Tokens(acme, {60})}, kStart).admitted);
  AdjustTerms late = store_.NewAdjustId();
  late.counts_by = kStart - 1ms;
  const std::vector<Charge> charges = {Tokens(Relimited(acme, {Rpm(6)}), {-20}),
                                       Tokens(fresh, {1})};
  EXPECT_EQ(ErrorOf(limits.Debit(charges, kStart, late)).code, Code::kDeadlineExceeded);
  EXPECT_EQ(Balance(acme, kStart), Balances{0});
  EXPECT_EQ(limits.Stored(acme), PerMinute(60));
  EXPECT_TRUE(Kept({fresh->key.entity}).empty());
  AdjustTerms in_time = store_.NewAdjustId();
  in_time.counts_by = kStart + 24h * 36'500;  // engines have a real clock
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {-20})}, in_time, kStart));
  EXPECT_EQ(Balance(acme, kStart), Balances{20'000});
}

}  // namespace
}  // namespace weir
