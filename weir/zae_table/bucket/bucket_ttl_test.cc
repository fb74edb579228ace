// The ttl of buckets, and the balance of an item that has expired and still exists: used tokens
// must not be forgotten.
#include <gtest/gtest.h>

#include <memory>

#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

constexpr UnixMillis kTtlStart{1'767'225'600'000};
constexpr std::int64_t kDayMillis = 86'400'000;
const BucketKey kTtlBucket{"acme", "api", 0};
const Keys kTtlKeys("ns");

class BucketTtl : public testing::Test {
 protected:
  struct Process {
    Process(ZaeSimTable& table, std::uint64_t seed)
        : store(table.table, kTtlKeys, table.scheduler, {.seed = seed}) {}
    DynamoBucketStore store;
  };

  Decision Ask(Process& process, const TargetPtr& target, std::vector<std::int64_t> tokens,
               milliseconds later = {}) {
    for (std::int64_t& amount : tokens) amount *= kMillitokens;
    const std::vector<Charge> charges{{target, std::move(tokens)}};
    auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      process.store.Acquire(charges, kTtlStart + later, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(decision.has_value()) << decision.error().message;
    return decision.value_or(Decision{});
  }
  bool Takes(Process& process, const TargetPtr& target, std::vector<std::int64_t> tokens,
             milliseconds later = {}) {
    return Ask(process, target, std::move(tokens), later).admitted;
  }
  void Adjust(Process& process, const TargetPtr& target, std::vector<std::int64_t> tokens) {
    for (std::int64_t& amount : tokens) amount *= kMillitokens;
    const std::vector<Charge> charges{{target, std::move(tokens)}};
    const Status status = table_.Ask<void>([&](Done<void> done) {
      process.store.Adjust(charges, AdjustId{1, ++tokens_}, kTtlStart, Deadline::Never(),
                           std::move(done));
    });
    EXPECT_TRUE(status.has_value()) << status.error().message;
  }

  Item Stored() { return table_.Get(kTtlKeys.Bucket(kTtlBucket)).value_or(Item{}); }
  std::int64_t Number(const std::string& name) { return GetNumber(Stored(), name).value_or(-1); }
  UnixMillis Ttl() { return {Number("ttl") * 1000}; }
  /// Writes rf and ttl as zae-limiter's slow path does for a bucket whose configured limits are
  /// full after a second.
  void LetAPythonClientRefill(milliseconds later) {
    Item item = Stored();
    const UnixMillis now = kTtlStart + later;
    item.insert_or_assign("rf", Of(now.value));
    item.insert_or_assign("ttl", Of(now.value / 1000 + 7));
    table_.Put(std::move(item));
  }

  ZaeSimTable table_;
  Process here_{table_, 5};
  Process there_{table_, 6};
  std::uint64_t tokens_ = 0;
  const TargetPtr fast_ = MakeTarget(kTtlBucket, {{"tps", PerSecond(100)}});
  const TargetPtr daily_ = MakeTarget(
      kTtlBucket, {{"daily", {.capacity = 8'000, .amount = 8'000, .period = kDayMillis}}},
      LimitSource::kOverride);
};

// D1. The ttl in the image of each adjust covers the debt of this adjust alone. Fails if: an adjust
// does not require the balance that the ttl covers.
TEST_F(BucketTtl, D1TheSumOfConcurrentAdjustsIsNotForgotten) {
  ASSERT_TRUE(Takes(here_, fast_, {1}));
  // So few that each claims a slot of its own: two that claim one slot show each other's debt.
  std::vector<std::unique_ptr<Process>> processes;
  for (std::uint64_t i = 0; i < 4; ++i) {
    processes.push_back(std::make_unique<Process>(table_, 10 + i));
    ASSERT_TRUE(Takes(*processes.back(), fast_, {0})) << "from now on it remembers the bucket";
  }
  for (const auto& process : processes) Adjust(*process, fast_, {300});
  EXPECT_EQ(Number("b_tps_tk"), 99'000 - 4 * 300'000);
  EXPECT_GE(Ttl(), kTtlStart + milliseconds(12'010)) << "full again at 100 a second";
  table_.scheduler.Advance(seconds(9));
  const Decision refused = Ask(here_, fast_, {100}, seconds(9));
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.retry_after, milliseconds(3'010));
}

// D1. Fails if: an add relies on the ttl of its image, and does not require it.
TEST_F(BucketTtl, D1AnAddDoesNotRelyOnATtlThatOthersShortened) {
  ASSERT_TRUE(Takes(here_, fast_, {1}));
  Item shortened = Stored();
  shortened.insert_or_assign("ttl", Of(kTtlStart.value / 1000 + 1));
  table_.Put(shortened);
  Adjust(here_, fast_, {300});
  EXPECT_EQ(Number("b_tps_tk"), 99'000 - 300'000);
  EXPECT_GE(Ttl(), kTtlStart + milliseconds(3'010)) << "full again at 100 a second";
}

// D1. Fails if: a write that moves ttl does not notice that its image is out of date.
TEST_F(BucketTtl, D1ARefillThatSawNoDebtDoesNotForgetIt) {
  const TargetPtr both = MakeTarget(kTtlBucket, {{"tps", PerSecond(100)}, {"ops", PerSecond(10)}});
  ASSERT_TRUE(Takes(here_, both, {100, 10}));
  Adjust(here_, both, {5'000, 0});
  Adjust(here_, both, {-5'000, 0});
  ASSERT_GE(Ttl(), kTtlStart + seconds(50));
  ASSERT_TRUE(Takes(there_, both, {0, 0}, milliseconds(1))) << "it remembers no debt";
  Adjust(here_, both, {4'900, 0});
  EXPECT_TRUE(Takes(there_, both, {0, 5}, milliseconds(600)));
  EXPECT_LT(Number("b_tps_tk"), -4'800'000);
  EXPECT_GE(Ttl(), kTtlStart + seconds(50));
}

// D1, D2.
TEST_F(BucketTtl, D2AnExpiredItemIsRefilledFromItsOwnTime) {
  ASSERT_TRUE(Takes(here_, fast_, {100}));
  Adjust(here_, fast_, {2'000});
  Item early = Stored();
  early.insert_or_assign("ttl", Of(kTtlStart.value / 1000 + 1));
  table_.Put(early);
  EXPECT_EQ(Ask(there_, fast_, {1}, seconds(3)).retry_after, milliseconds(17'010));
  table_.scheduler.Advance(seconds(20));
  EXPECT_TRUE(Takes(there_, fast_, {50}, milliseconds(20'500)));
  EXPECT_EQ(Number("b_tps_tk"), 0);
  EXPECT_GE(Ttl(), kTtlStart + seconds(27)) << "and it lives on";
}

// D2. Fails if: extras are forgotten at a ttl that another client has computed without them.
TEST_F(BucketTtl, D2ATtlThatAnotherClientShortensForgetsNoExtra) {
  ASSERT_TRUE(Takes(here_, fast_, {1}));
  ASSERT_TRUE(Takes(here_, daily_, {8}));
  LetAPythonClientRefill(milliseconds(100));
  table_.scheduler.Advance(seconds(9));
  EXPECT_FALSE(Takes(here_, daily_, {8}, seconds(9)));
  EXPECT_FALSE(Takes(there_, daily_, {1}, seconds(9)));
}

// D2. Only w_gone contains the limits that left early.
TEST_F(BucketTtl, D2AnExpiredItemStillKnowsWhatLeftEarly) {
  ASSERT_TRUE(Takes(here_, fast_, {1}));
  Item item = Stored();
  const UnixMillis full = kTtlStart + milliseconds(kDayMillis);
  item.insert_or_assign("w_gone", Of(FormatGone({kTtlStart, full})));
  item.insert_or_assign("ttl", Of(kTtlStart.value / 1000 + 7));
  table_.Put(item);
  table_.scheduler.Advance(seconds(9));
  EXPECT_FALSE(Takes(there_, daily_, {8}, seconds(9)));
  ASSERT_TRUE(Takes(there_, fast_, {1}, seconds(9)));
  ASSERT_TRUE(Stored().contains(std::string(kGone)));
  EXPECT_EQ(*GetText(Stored(), kGone), FormatGone({kTtlStart, full}));
  EXPECT_GT(Ttl(), full);
}

// The times of an add, of a refill, and of a refill of an item that has expired.
class BucketTtlAfter : public BucketTtl, public testing::WithParamInterface<milliseconds> {};
INSTANTIATE_TEST_SUITE_P(BucketTtl, BucketTtlAfter,
                         testing::Values(milliseconds(300), milliseconds(1'050),
                                         milliseconds(9'000)),
                         [](const auto& at) { return std::to_string(at.param.count()); });

// D2. Fails if: a write that only adds, or one that refills, leaves a ttl that is too early.
TEST_P(BucketTtlAfter, D2TheNextWriteRestoresATtlThatIsTooEarly) {
  ASSERT_TRUE(Takes(here_, fast_, {10}));
  ASSERT_TRUE(Takes(here_, daily_, {4}));
  LetAPythonClientRefill(milliseconds(200));
  table_.scheduler.Advance(GetParam());
  ASSERT_TRUE(Takes(there_, fast_, {1}, GetParam()));
  EXPECT_GE(Ttl(), kTtlStart + milliseconds(kDayMillis / 2));
  EXPECT_LT(Number("b_daily_tk"), 4'001);
}

}  // namespace
}  // namespace weir::dynamo
