// Adjusts that must not count later than a certain bucket time (AdjustTerms::counts_by), as the
// returns of allowances.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "weir/base/rng.h"
#include "weir/bucket/bucket.h"
#include "weir/zae_table/bucket/bucket_plan.h"
#include "weir/zae_table/sharding/shard_plan.h"
#include "weir/zae_table/testing/bucket_protocol_fixture.h"
#include "weir/zae_table/testing/conservation_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

class BoundedAdjust : public BucketProtocolTest {
 protected:
  BoundedAdjust() {
    for (const char* entity : {"acme", "team"}) {
      Put(entity, 40);
      Learn(entity);
    }
  }

  Pending GiveBack(const std::vector<Ask>& asks, milliseconds within = milliseconds(200)) {
    return Start(asks, {.kind = CallRequest::Kind::kAdjust, .counts_within = within});
  }
  /// Takes tokens by the form "add", as another process does.
  void TakeElsewhere(const std::string& entity, std::int64_t tokens) {
    Item item = *Stored(entity);
    const auto add = [&item](const char* attribute, std::int64_t amount) {
      item[attribute] = Of(*GetNumber(item, attribute) + amount);
    };
    add("b_rpm_tk", -tokens * kMillitokens);
    add("b_rpm_tc", tokens * kMillitokens);
    add("b_wcu_tc", kWriteCost);
    table_.Put(std::move(item));
  }
  std::int64_t Left(const std::string& entity) {
    return *GetNumber(*Stored(entity), "b_rpm_tk") / kMillitokens;
  }
};

TEST_F(BoundedAdjust, CountsOnAnItemThatHasNotChangedHoweverLate) {
  const Pending back = GiveBack({{"acme", -30}});
  const Request write = Next("acme");
  Wait(milliseconds(90));
  Apply(write);
  EXPECT_EQ(StateOf(back), "admitted");
  EXPECT_EQ(Left("acme"), 70);
}

// The item's `rf` is that of the image, and in time. Fails if: this is the only condition. Another
// process may have taken tokens from a bucket that would have been full with the returned ones.
TEST_F(BoundedAdjust, AWriteThatArrivesAfterTheTakeOfAnotherProcessChangesNothing) {
  const Pending back = GiveBack({{"acme", -30}});
  const Request write = Next("acme");
  Wait(seconds(5));
  TakeElsewhere("acme", 40);
  Apply(write);
  EXPECT_EQ(Left("acme"), 0);
  while (Writes("acme") > 0) Apply(Next("acme"));
  EXPECT_EQ(Left("acme"), 0);
  EXPECT_EQ(StateOf(back), "DEADLINE_EXCEEDED");
}

// A take and a return of the same amount leave the balance as it was.
TEST_F(BoundedAdjust, AWriteThatArrivesAfterATakeAndItsReturnChangesNothing) {
  GiveBack({{"acme", -30}});
  const Request write = Next("acme");
  Wait(seconds(1));
  TakeElsewhere("acme", -20);
  TakeElsewhere("acme", 20);
  Apply(write);
  EXPECT_EQ(Left("acme"), 40);
}

TEST_F(BoundedAdjust, IsWrittenAgainWhileTheBucketIsSeenInTime) {
  const Pending back = GiveBack({{"acme", -30}});
  const Request write = Next("acme");
  Wait(milliseconds(50));
  TakeElsewhere("acme", 40);
  Apply(write);
  EXPECT_EQ(StateOf(back), "waits");
  Apply(Next("acme"));
  EXPECT_EQ(StateOf(back), "admitted");
  EXPECT_EQ(Left("acme"), 30);
}

TEST_F(BoundedAdjust, EndsAfterThreeWritesThatLostToOthers) {
  const Pending back = GiveBack({{"acme", -30}}, seconds(10));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(StateOf(back), "waits");
    TakeElsewhere("acme", 1);
    Apply(Next("acme"));
  }
  EXPECT_EQ(StateOf(back), "UNAVAILABLE");
}

// Fails if: a take fails because it shares the write of the adjust, or waits for it.
TEST_F(BoundedAdjust, TakesGoFirstAndByThemselves) {
  const Pending back = GiveBack({{"acme", -30}}, seconds(10));
  TakeElsewhere("acme", 1);
  const Request lost = Next("acme");
  const Pending take = Start({{"acme", 1}});
  Apply(lost);
  TakeElsewhere("acme", 1);
  Apply(Next("acme"));
  EXPECT_EQ(StateOf(take), "admitted");
  EXPECT_EQ(StateOf(back), "waits");
  Apply(Next("acme"));
  EXPECT_EQ(StateOf(back), "admitted");
}

TEST_F(BoundedAdjust, IsNotWrittenOnAnImageThatCameTooLate) {
  protocol_->Forget({"acme", "llm", 0});
  const Pending back = GiveBack({{"acme", -30}});
  Wait(milliseconds(201));
  Read();
  EXPECT_EQ(StateOf(back), "DEADLINE_EXCEEDED");
  EXPECT_EQ(Writes("acme"), 0U);
}

// Another process, whose clock is ahead, has refilled the bucket until after the adjust's time.
TEST_F(BoundedAdjust, IsNotWrittenOnABucketThatIsRefilledUntilLater) {
  Change("acme", [](Item& item) { item["rf"] = Of(*GetNumber(item, "rf") + 300); });
  Learn("acme");
  const Pending back = GiveBack({{"acme", -30}});
  EXPECT_EQ(StateOf(back), "DEADLINE_EXCEEDED");
  EXPECT_EQ(Writes("acme"), 0U);
}

// Fails if: the time between the caller's reading of bucket time and the call does not count.
TEST_F(BoundedAdjust, IsNotWrittenIfItsCallerHasPausedUntilLater) {
  Wait(seconds(5));
  TakeElsewhere("acme", 40);
  Learn("acme");
  const Pending back = Start({{"acme", -30}}, {.kind = CallRequest::Kind::kAdjust,
                                               .counts_within = milliseconds(200),
                                               .paused = seconds(5)});
  EXPECT_EQ(StateOf(back), "DEADLINE_EXCEEDED");
  EXPECT_EQ(Writes("acme"), 0U);
}

// Without `wcu`, nothing shows whether others have written the item.
TEST_F(BoundedAdjust, IsNotWrittenOnAnItemThatDoesNotCountItsWrites) {
  Change("acme", [](Item& item) {
    std::erase_if(item, [](const auto& entry) { return entry.first.starts_with("b_wcu_"); });
  });
  Learn("acme");
  EXPECT_EQ(StateOf(GiveBack({{"acme", -30}})), "DEADLINE_EXCEEDED");
}

// Its bucket was deleted and created again, undivided. Fails if: another shard gets tokens that it
// never paid.
TEST_F(BoundedAdjust, IsNotWrittenToAShardThatDidNotPay) {
  const SeenBucket* const seen = protocol_->Find({"acme", "llm", 0});
  ASSERT_NE(seen, nullptr);
  const Part back{.kind = Part::Kind::kAdjust,
                  .target = MakeTarget({"acme", "llm", 0}, {kRpm}),
                  .paid = 3,
                  .counts_by = UnixMillis{kAnyTime.value - 1}};
  EXPECT_TRUE(CountsTooLate(back, *seen));
}

TEST_F(BoundedAdjust, CountsInABucketThatIsGone) {
  Delete("acme", 0);
  protocol_->Forget({"acme", "llm", 0});
  const Pending back = GiveBack({{"acme", -30}});
  Wait(milliseconds(500));
  Read();
  while (Writes("acme") > 0) Apply(Next("acme"));
  EXPECT_EQ(StateOf(back), "admitted") << "it is full";
}

// Fails if: the call ends with the first of its buckets, although the caller has time left.
TEST_F(BoundedAdjust, ABucketThatIsTooLateDoesNotEndTheOthers) {
  const Pending back = GiveBack({{"acme", -30}, {"team", -30}});
  const Request write = Next("acme");
  const Request other = Next("team");
  Wait(milliseconds(90));
  TakeElsewhere("acme", 40);
  Wait(milliseconds(150));
  Apply(write);
  while (Writes("acme") > 0) Apply(Next("acme"));
  EXPECT_EQ(StateOf(back), "waits");
  Apply(other);
  EXPECT_EQ(StateOf(back), "DEADLINE_EXCEEDED");
  EXPECT_EQ(Left("acme"), 0);
  EXPECT_EQ(Left("team"), 70);
}

// A division keeps the number of shards if it creates only missing ones, and may keep rf. Fails if:
// a write that was planned before is applied to the balance that is left.
TEST(BoundedAdjustPlan, AWriteThatWasPlannedBeforeADivisionIsNotApplied) {
  ZaeSimTable table;
  const UnixMillis now = table.scheduler.clock().WallNow();
  const auto key = [](std::uint32_t shard) { return kShardKeys.Bucket({"acme", "llm", shard}); };
  for (const std::uint32_t shard : {0U, 1U, 2U}) {  // shard 3 is missing
    Item item = ShardItem(shard, 4, 20'000);
    item["rf"] = Of(now.value - 10);
    table.Put(std::move(item));
  }
  const BucketImage image = *ReadImage(*table.Get(key(1)));
  const TargetPtr target = MakeTarget(image.key, {kRpm});
  const MeterAmounts back{.returns = 16'000};
  const auto late =
      PlanWrite(kShardKeys, image,
                {.target = *target, .sums = {&back, 1}, .adjusts = true, .needs_image = true}, now);
  ASSERT_TRUE(late);
  ShardsSeen seen{.key = {"acme", "llm", 0}, .items = {}, .owner = {}};
  for (std::uint32_t shard = 0; shard < 4; ++shard) seen.items.push_back(table.Get(key(shard)));
  const auto division = PlanShards(kShardKeys, seen, 4, now);
  ASSERT_TRUE(division);
  bool is_divided = false;
  table.table.Transact(*division, "token", Deadline::Never(),
                       [&](const auto& outcome) { is_divided = outcome.has_value(); });
  table.scheduler.RunAll();
  ASSERT_TRUE(is_divided);
  const std::int64_t left = *GetNumber(*table.Get(key(1)), "b_rpm_tk");
  ASSERT_LT(left, 20'000);
  table.table.Apply(late->writes.front(), false, Deadline::Never(), [](const auto&) {});
  table.scheduler.RunAll();
  EXPECT_EQ(GetNumber(*table.Get(key(1)), "b_rpm_tk"), left);
}

// Random debits that are given back over a network with trips of seconds, less the refill until the
// time by which they count, while another process takes tokens and gives them back. A second bucket
// has the same takes, and none of these debits. Fails if: the first bucket is ever fuller than the
// second one, so that the debits have made tokens.
class BoundedReturns {
 public:
  explicit BoundedReturns(std::uint64_t seed)
      : rng_(seed),
        late_client_(table_.server, table_.scheduler, seed, {.throttled = 0, .stray = 0.3}),
        late_table_(late_client_, table_.scheduler, table_.table.name(), seed, ZaeLayout()),
        here_(table_.table, kShardKeys, table_.scheduler, {.seed = seed + 1}),
        late_(late_table_, kShardKeys, table_.scheduler, {.seed = seed + 2}) {
    Item item = ShardItem(0, 1, kRpm.quota.capacity);
    item["rf"] = Of(Now().value);
    table_.Put(std::move(item));
  }

  void Run() {
    for (int i = 0; i < 150; ++i) {
      if (rng_.Chance(0.25)) {
        DebitAndGiveBack();
      } else if (rng_.Chance(0.7)) {
        Take(rng_.Between(1, 60));
      } else {
        const std::int64_t tokens = rng_.Between(1, 30);
        if (Take(tokens)) Adjust(-tokens);
      }
      // Now and then the second bucket is full when the tokens are given back.
      for (std::int64_t step = rng_.Between(1, 100); step > 0; --step) {
        table_.scheduler.Advance(milliseconds(50));
        Compare();
      }
    }
    table_.scheduler.RunAll();
    Compare();
  }
  int counted = 0;
  int dropped = 0;

 private:
  UnixMillis Now() const { return table_.scheduler.clock().WallNow(); }
  std::vector<Charge> ChargeOf(std::int64_t amount) const { return {{target_, {amount}}}; }
  bool Acquire(std::int64_t amount) {
    const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      here_.Acquire(ChargeOf(amount), Now(), Deadline::Never(), std::move(done));
    });
    return decision && decision->admitted;
  }
  bool Take(std::int64_t tokens) {
    const bool is_taken = Acquire(tokens * kMillitokens);
    if (is_taken) TakeFromOther(tokens * kMillitokens);
    return is_taken;
  }
  void Adjust(std::int64_t tokens) {
    const Status status = table_.Ask<void>([&](Done<void> done) {
      here_.Adjust(ChargeOf(tokens * kMillitokens), AdjustId{1, ++adjusts_}, Now(),
                   Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(status.has_value());
    TakeFromOther(tokens * kMillitokens);
  }
  void DebitAndGiveBack() {
    const std::int64_t amount = rng_.Between(10, 60) * kMillitokens;
    if (!Acquire(amount)) return;
    const milliseconds lifetime(rng_.Between(50, 2'000));
    const std::int64_t refilled = lifetime.count() * kRpm.quota.amount / kRpm.quota.period;
    if (amount <= refilled) return;
    AdjustTerms terms = AdjustId{2, ++adjusts_};
    terms.counts_by = Now() + lifetime;
    const milliseconds unused(rng_.Between(0, lifetime.count()));
    table_.scheduler.At(
        table_.scheduler.clock().Now() + unused, [this, terms, back = refilled - amount] {
          late_.Adjust(ChargeOf(back), terms, Now(), Deadline::Never(),
                       [this](const Status& status) { ++(status ? counted : dropped); });
        });
  }
  void RefillOther() {
    Refill(other_, (Now() - refilled_at_).count());
    refilled_at_ = Now();
  }
  void TakeFromOther(std::int64_t amount) {
    RefillOther();
    weir::Adjust(other_, amount);
  }
  void Compare() {
    RefillOther();
    const BucketImage image = *ReadImage(*table_.Get(kShardKeys.Bucket(target_->key)));
    Meter meter = image.bucket.meters.front();
    Refill(meter, std::max<std::int64_t>((Now() - image.bucket.time).count(), 0));
    ASSERT_LE(meter.tokens, other_.tokens) << "at " << Now().value << " ms";
  }

  Rng rng_;
  ZaeSimTable table_;
  BadClient late_client_;
  Table late_table_;
  DynamoBucketStore here_;
  DynamoBucketStore late_;
  const TargetPtr target_ = MakeTarget({"acme", "llm", 0}, {kRpm});
  Meter other_ = FullMeter(kRpm.quota);
  UnixMillis refilled_at_ = Now();
  std::uint64_t adjusts_ = 0;
};

TEST(BoundedReturnsTest, MakeNoTokens) {
  int counted = 0;
  int dropped = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    BoundedReturns run(seed);
    run.Run();
    if (testing::Test::HasFatalFailure()) return;
    counted += run.counted;
    dropped += run.dropped;
  }
  EXPECT_GT(counted, 40);
  EXPECT_GT(dropped, 40);
}

}  // namespace
}  // namespace weir::dynamo
