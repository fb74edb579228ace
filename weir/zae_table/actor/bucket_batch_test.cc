// One write with many parts has the effect of its parts one after the other: returns, then takes,
// then debits, at one instant. If its condition fails, it has no effect.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "weir/base/rng.h"
#include "weir/bucket/meter_times.h"
#include "weir/zae_table/actor/bucket_batch.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using Amounts = std::vector<std::int64_t>;

/// The parts of one write on one limit.
struct Parts {
  Amounts returns;
  Amounts takes;
  Amounts debits;

  MeterAmounts Sums() const {
    const auto sum = [](const Amounts& of) { return std::reduce(of.begin(), of.end()); };
    return {.takes = sum(takes), .debits = sum(debits), .returns = sum(returns)};
  }
};

/// Applies one part after the other. Returns false if the balance does not suffice for a take.
bool ApplyEach(Meter& meter, const Parts& parts) {
  for (const std::int64_t part : parts.returns) Adjust(meter, -part);
  for (const std::int64_t part : parts.takes) {
    if (meter.tokens < part) return false;
    meter.tokens -= part;
    meter.consumed += part;
  }
  for (const std::int64_t part : parts.debits) Adjust(meter, part);
  return true;
}

class BucketBatchTest : public testing::Test {
 protected:
  void Begin(std::uint64_t seed) {
    rng_ = Rng(seed);
    quota_ = {rng_.Between(1, 60), rng_.Between(1, 9), rng_.Between(1, 9)};
    Item item = ShardItem(0, 1, rng_.Between(-20, quota_.capacity));
    item["b_rpm_cp"] = Of(quota_.capacity);
    item["b_rpm_ra"] = Of(quota_.amount);
    item["b_rpm_rp"] = Of(quota_.period);
    if (rng_.Chance(0.5)) item["ttl"] = Of(kShardStart.value / 1'000 + rng_.Between(-1, 3));
    target_ = MakeTarget({"acme", "llm", 0}, {{"rpm", quota_}});
    table_.Put(std::move(item));
  }

  Amounts Draw() {
    Amounts parts(rng_.Below(4));
    for (std::int64_t& part : parts) part = rng_.Between(1, quota_.capacity / 3 + 1);
    return parts;
  }
  Parts DrawParts() {
    Parts parts;
    if (rng_.Chance(0.6)) parts.returns = Draw();
    if (rng_.Chance(0.6)) parts.takes = Draw();
    if (rng_.Chance(0.6)) parts.debits = Draw();
    return parts;
  }

  BucketImage Image() {
    auto image = ReadImage(table_.Get(kShardKeys.Bucket(target_->key)).value_or(Item{}));
    EXPECT_TRUE(image.has_value());
    return image.value_or(BucketImage{});
  }
  static Meter At(const BucketImage& image, UnixMillis now) {
    Meter meter = image.bucket.meters.front();
    Refill(meter, image.bucket.time, std::max(now, image.bucket.time));
    return meter;
  }

  std::optional<Write> Plan(const BucketImage& image, const Parts& parts, UnixMillis now) {
    const MeterAmounts sums = parts.Sums();
    SeenBucket seen;
    seen.Learn(image, SeenBucket::Source::kRead, 0, {});
    BucketBatch batch(seen, {.target = target_, .amounts = {}}, now, {});
    const std::array adjusts = {sums.debits, -sums.returns};
    for (const std::int64_t amount : adjusts) {
      const Part adjust{.kind = Part::Kind::kAdjust, .target = target_, .amounts = {amount}};
      EXPECT_TRUE(batch.AddAdjust(adjust));
    }
    if (batch.AddTake(std::array{sums.takes}).wait > milliseconds(0)) return std::nullopt;
    if (sums.is_nothing()) return std::nullopt;
    auto plan = PlanWrite(kShardKeys, image, batch.Request(), now);
    EXPECT_TRUE(plan.has_value());
    return std::move(plan->writes.front());
  }
  bool Apply(const Write& write) {
    bool is_applied = false;
    table_.table.Apply(write, false, kNever,
                       [&](const auto& result) { is_applied = result.has_value(); });
    return is_applied;
  }

  Rng rng_{1};
  Quota quota_;
  TargetPtr target_;
  ZaeSimTable table_;
};

// Fails if: amounts are netted; the capacity cuts off the net amount instead of the returns; a take
// is judged by a balance after the debits.
TEST_F(BucketBatchTest, AWriteOnTheItemThatWasSeenIsItsPartsOneAfterTheOther) {
  int applied = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 6'000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Begin(seed);
    const BucketImage image = Image();
    const UnixMillis now = kShardStart + milliseconds(rng_.Between(0, 60));
    const Parts parts = DrawParts();
    Meter expected = At(image, now);
    const bool fits = ApplyEach(expected, parts);
    const std::optional<Write> write = Plan(image, parts, now);
    if (parts.Sums().is_nothing()) continue;
    ASSERT_EQ(write.has_value(), fits);
    if (!write) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(Apply(*write)) << "no other process wrote";
    ++applied;
    for (const milliseconds later : {milliseconds(0), milliseconds(7), milliseconds(400)}) {
      Meter reference = expected;
      Refill(reference, later.count());
      ASSERT_EQ(At(Image(), now + later).tokens, reference.tokens) << "after " << later.count();
    }
    ASSERT_EQ(At(Image(), now).consumed, expected.consumed);
  }
  EXPECT_GT(applied, 1'000);
  EXPECT_GT(refused, 500);
}

// Fails if: a write passes on an item that another process has changed so that the parts do not
// fit, or so that the capacity cuts off another amount.
TEST_F(BucketBatchTest, AWriteOnAnItemThatOthersChangedIsItsPartsOneAfterTheOtherOrFails) {
  int applied = 0;
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 6'000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Begin(seed);
    const BucketImage image = Image();
    const UnixMillis first = kShardStart + milliseconds(rng_.Between(0, 60));
    const UnixMillis second = kShardStart + milliseconds(rng_.Between(0, 60));
    const std::optional<Write> others = Plan(image, DrawParts(), first);
    const Parts parts = DrawParts();
    const std::optional<Write> own = Plan(image, parts, second);
    if (!others || !own || !Apply(*others)) continue;
    const BucketImage between = Image();
    const UnixMillis now = std::max(second, between.bucket.time);
    Meter expected = At(between, now);
    const bool fits = ApplyEach(expected, parts);
    if (!Apply(*own)) {
      ++failed;
      ASSERT_EQ(At(Image(), now).tokens, At(between, now).tokens);
      continue;
    }
    ++applied;
    ASSERT_TRUE(fits) << "a take without tokens";
    ASSERT_LE(At(Image(), now).tokens, expected.tokens) << "tokens are minted";
    // A remainder is less than a millitoken, and is lost if another write moves rf.
    ASSERT_GE(At(Image(), now).tokens, expected.tokens - 1);
    ASSERT_EQ(Image().bucket.meters.front().consumed, expected.consumed);
  }
  EXPECT_GT(applied, 500);
  EXPECT_GT(failed, 500);
}

}  // namespace
}  // namespace weir::dynamo
