#include "weir/aggregator/refill/shard_upkeep.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/aggregator/testing/change_fixture.h"
#include "weir/zae_table/actor/fence_slots.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

constexpr UnixMillis kLater = kShardStart + milliseconds(1'000);

// A change of shard 0 of a bucket with kRpm: 100 tokens, 10 a second.
ChangeRecord TookFromShard(std::int64_t tokens_left, std::int64_t consumed) {
  ChangeRecord record{.kind = ChangeKind::kModify,
                      .sequence_number = "7",
                      .created = kShardStart,
                      .old_image = ShardItem(0, 1, tokens_left + consumed),
                      .new_image = ShardItem(0, 1, tokens_left)};
  record.keys = ToItem(KeyOf(record.new_image));
  record.new_image["b_rpm_tc"] = Of(consumed);
  return record;
}

Result<ShardUpkeep> UpkeepOf(const std::vector<ChangeRecord>& records, UnixMillis now = kLater) {
  std::vector<BucketChange> changes;
  for (std::size_t i = 0; i < records.size(); ++i) changes.push_back(**ReadChange(records[i], i));
  return PlanUpkeep(SumActivity(changes, records).at(0), now);
}
bool IsRefilled(const std::vector<ChangeRecord>& records, UnixMillis now = kLater) {
  return UpkeepOf(records, now)->refill.has_value();
}

// Fails if: a client's next fast write would find too little although time has paid it back, as
// with zae-limiter's aggregator, which refills only if that does not suffice.
TEST(ShardUpkeep, ARefillIsDueIfTheStoredBalanceIsLessThanTheConsumption) {
  EXPECT_TRUE(IsRefilled({TookFromShard(5'000, 6'000)}));
  EXPECT_TRUE(IsRefilled({TookFromShard(5'000, 90'000)}));
  EXPECT_FALSE(IsRefilled({TookFromShard(6'000, 6'000)})) << "the balance suffices";
  EXPECT_FALSE(IsRefilled({TookFromShard(5'000, 6'000)}, kShardStart)) << "no time has passed";
  EXPECT_FALSE(IsRefilled({TookFromShard(-5'000, -1'000)})) << "tokens were given back";
}

TEST(ShardUpkeep, WritesOfWeirNeedNoRefill) {
  ChangeRecord record = TookFromShard(5'000, 6'000);
  record.new_image[SlotAttribute(0)] = Of(FenceValue{1, {2}, 3});
  EXPECT_FALSE(IsRefilled({record}));
}

TEST(ShardUpkeep, WritesOnTheItemAreRefilled) {
  ChangeRecord record = TookFromShard(90'000, 1'000);
  record.new_image["b_wcu_tk"] = Of(2'000);
  record.new_image["b_wcu_tc"] = Of(3'000);
  EXPECT_TRUE(IsRefilled({record}));
}

TEST(ShardUpkeep, TheLatestImageCounts) {
  ChangeRecord first = TookFromShard(5'000, 6'000);
  ChangeRecord second = TookFromShard(80'000, 0);
  second.sequence_number = "10";
  EXPECT_FALSE(IsRefilled({first, second}));
  EXPECT_FALSE(IsRefilled({second, first}));
}

TEST(ShardUpkeep, FeaturesThatWeirDoesNotHaveAreLeftAlone) {
  for (const char* feature : {"b_rpm_soft", "b_rpm_rsa", "sched", "bypass", "disabled"}) {
    ChangeRecord record = TookFromShard(5'000, 6'000);
    record.new_image[feature] = Of(1);
    const auto upkeep = UpkeepOf({record});
    ASSERT_FALSE(upkeep) << feature;
    EXPECT_EQ(upkeep.error().code, Code::kFailedPrecondition);
  }
}

TEST(ShardUpkeep, ABusyShard0IsDivided) {
  ChangeRecord record = TookFromShard(90'000, 1'000);
  const auto divides = [&](std::int64_t writes_left, UnixMillis now = kShardStart) {
    record.new_image["b_wcu_tk"] = Of(writes_left);
    return UpkeepOf({record}, now)->divide;
  };
  EXPECT_TRUE(divides(199'999));
  EXPECT_FALSE(divides(200'000));
  EXPECT_FALSE(divides(0, kLater)) << "the writes came back";
  record.new_image["PK"] = Of("ns/BUCKET#acme#llm#1");
  record.keys["PK"] = Of("ns/BUCKET#acme#llm#1");
  EXPECT_FALSE(divides(0)) << "shard 0 decides";
}

TEST(ShardUpkeep, ShardsThatAClientAnnouncedAreCreated) {
  ChangeRecord record = TookFromShard(90'000, 0);
  EXPECT_FALSE(UpkeepOf({record})->complete);
  record.new_image["shard_count"] = Of(2);
  const auto upkeep = UpkeepOf({record});
  EXPECT_TRUE(upkeep->complete);
  EXPECT_EQ(upkeep->image->shards, 2U);
}

// A bucket's shard that fast writes of zae-limiter take from: they rely on the stored balance.
struct FastClients {
  explicit FastClients(std::uint32_t shards) { sim.Put(ShardItem(0, shards, 100'000 / shards)); }
  bool Take(std::int64_t amount) {
    Write write{.kind = Write::Kind::kUpdate, .key = key};
    write.expression.Add("b_rpm_tk", -amount).Add("b_rpm_tc", amount);
    write.expression.RequireExists("PK").Require("b_rpm_tk", ">=", amount);
    return Apply(write);
  }
  bool Apply(const Write& write) {
    bool applied = false;
    sim.table.Apply(write, false, kNever, [&](const auto& result) { applied = !!result; });
    return applied;
  }
  // Returns all records of the stream.
  const std::vector<ChangeRecord>& Records() {
    const auto& stream = sim.server.Table("limits")->stream();
    while (records.size() < stream.size()) records.push_back(ToChange(stream[records.size()]));
    return records;
  }

  ZaeSimTable sim;
  TableKey key = kShardKeys.Bucket({"acme", "llm", 0});
  std::vector<ChangeRecord> records;
};

// Fails if: an event with forged parameters, or one from before a change of them that left rf,
// gives tokens.
TEST(ShardUpkeep, ARefillByOtherParametersThanTheItemsIsNotApplied) {
  FastClients clients(1);
  ASSERT_TRUE(clients.Take(90'000));
  ChangeRecord record = clients.Records().back();
  const auto honest = UpkeepOf({record});
  record.new_image["b_rpm_cp"] = Of(1'000'000'000);
  record.new_image["b_rpm_ra"] = Of(1'000'000'000);
  const auto forged = UpkeepOf({record});
  ASSERT_TRUE(honest && honest->refill && forged && forged->refill);
  EXPECT_FALSE(clients.Apply(*forged->refill));
  EXPECT_TRUE(clients.Apply(*honest->refill));
}

// Refills are made by old, repeated and late images of the stream, while clients take whatever they
// can. Fails if: a refill creates tokens, by its condition, its amount or the shard's share.
RC_GTEST_PROP(ShardUpkeep, RefillsNeverAdmitMoreThanTheRate, ()) {
  const auto shards = *rc::gen::element<std::uint32_t>(1, 2, 4);
  FastClients clients(shards);
  const std::int64_t capacity = 100'000 / shards;
  UnixMillis now = kShardStart;
  std::vector<std::pair<UnixMillis, std::int64_t>> taken;
  std::vector<Write> late;
  for (int step = 0; step < 60; ++step) {
    now = now + milliseconds(*rc::gen::inRange(0, 700));
    const auto amount = *rc::gen::inRange<std::int64_t>(1, 20'000);
    if (clients.Take(amount)) taken.emplace_back(now, amount);
    const auto& records = clients.Records();
    const auto end = *rc::gen::inRange<std::size_t>(records.size() / 2, records.size() + 1);
    const auto begin = *rc::gen::inRange<std::size_t>(0, end + 1);
    if (begin == end) continue;
    const auto at = [&](std::size_t i) { return records.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto upkeep = UpkeepOf({at(begin), at(end)}, now);
    if (upkeep->refill) late.push_back(*upkeep->refill);
    if (late.empty()) continue;
    const auto which = *rc::gen::inRange<std::size_t>(0, late.size());
    clients.Apply(late[which]);
  }
  // From the start, and not in every interval: a fast write leaves rf as it is, so a client that
  // takes from a full bucket also gets the refill of the time before (a defect of zae-limiter).
  std::int64_t sum = 0;
  for (const auto& [at, amount] : taken) {
    sum += amount;
    RC_ASSERT(sum <= capacity + (at - kShardStart).count() * 10 / shards);
  }
}

// Fails if: clients that only use fast writes starve although the limit has tokens.
TEST(ShardUpkeep, ClientsGetTheRateFromRefillsAlone) {
  FastClients clients(1);
  std::int64_t taken = 0;
  std::size_t read = 0;
  for (int second = 1; second <= 120; ++second) {
    for (int i = 0; i < 5; ++i) taken += clients.Take(2'500) ? 2'500 : 0;
    const auto& records = clients.Records();
    const std::vector<ChangeRecord> news(records.begin() + static_cast<std::ptrdiff_t>(read),
                                         records.end());
    read = records.size();
    if (news.empty()) continue;
    const auto upkeep = UpkeepOf(news, kShardStart + milliseconds(second * 1'000));
    if (upkeep->refill) clients.Apply(*upkeep->refill);
  }
  EXPECT_GE(taken, 1'200'000 * 9 / 10);
}

}  // namespace
}  // namespace weir::dynamo
