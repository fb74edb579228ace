#include "weir/kinesis/buffer_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr BufferQuotaOptions kSmallQuota{.max_records = 10, .max_bytes = 1000};

std::vector<BufferQuota::Ticket> Back(BufferQuota& quota, BufferQuota::Tenant tenant, Load load) {
  std::vector<BufferQuota::Ticket> served;
  quota.GiveBack(tenant, load);
  quota.ServeWaiting(served);
  return served;
}

std::size_t Fill(BufferQuota& quota, BufferQuota::Tenant tenant) {
  std::size_t records = 0;
  while (quota.Take(tenant, {1, 1})) ++records;
  return records;
}

TEST(BufferQuota, IsBoundedByRecordsAndByBytes) {
  BufferQuota quota(kSmallQuota);
  const BufferQuota::Tenant tenant{quota.AddStream(), {}};
  EXPECT_TRUE(quota.Take(tenant, {9, 100}));
  EXPECT_FALSE(quota.Take(tenant, {2, 1}));
  EXPECT_FALSE(quota.Take(tenant, {1, 901}));
  EXPECT_TRUE(quota.Take(tenant, {1, 900}));
  EXPECT_EQ(quota.used().records, 10U);
  EXPECT_EQ(quota.used().bytes, 1000U);
  EXPECT_THAT(Back(quota, tenant, {5, 500}), IsEmpty());
  EXPECT_TRUE(quota.Take(tenant, {5, 500}));
}

// Fails if: the quota counts as empty while bytes are held without a record.
TEST(BufferQuota, I14BytesThatAreHeldWithoutARecordCount) {
  BufferQuota quota(kSmallQuota);
  const BufferQuota::Tenant tenant{quota.AddStream(), {}};
  ASSERT_TRUE(quota.Take(tenant, {1, 900}));
  EXPECT_THAT(Back(quota, tenant, {1, 0}), IsEmpty());
  EXPECT_FALSE(quota.Take(tenant, {1, 200}));
  EXPECT_THAT(Back(quota, tenant, {0, 900}), IsEmpty());
  EXPECT_TRUE(quota.Take(tenant, {1, 5000})) << "it is empty";
}

TEST(BufferQuota, OneThatIsLargerThanAllGoesInAlone) {
  BufferQuota quota(kSmallQuota);
  const BufferQuota::Tenant tenant{quota.AddStream(), {}};
  EXPECT_TRUE(quota.Take(tenant, {1, 5000}));
  EXPECT_FALSE(quota.Take(tenant, {1, 1}));
  EXPECT_THAT(Back(quota, tenant, {1, 5000}), IsEmpty());
  EXPECT_TRUE(quota.Take(tenant, {1, 1}));
}

TEST(BufferQuota, ServesWhoWaitsInOrder) {
  BufferQuota quota(kSmallQuota);
  const BufferQuota::Tenant tenant{quota.AddStream(), {}};
  ASSERT_TRUE(quota.Take(tenant, {10, 10}));
  const auto large = quota.Wait(tenant, {4, 4});
  const auto small = quota.Wait(tenant, {1, 1});
  EXPECT_THAT(Back(quota, tenant, {3, 3}), IsEmpty())
      << "the small one does not pass the large one";
  EXPECT_FALSE(quota.Take(tenant, {1, 1})) << "nor does who comes now";
  EXPECT_THAT(Back(quota, tenant, {2, 2}), ElementsAre(large, small));
  EXPECT_FALSE(quota.has_waiting());
}

TEST(BufferQuota, WhoLeavesIsNotServed) {
  BufferQuota quota(kSmallQuota);
  const BufferQuota::Tenant tenant{quota.AddStream(), {}};
  ASSERT_TRUE(quota.Take(tenant, {10, 10}));
  const auto first = quota.Wait(tenant, {1, 1});
  const auto second = quota.Wait(tenant, {1, 1});
  std::vector<BufferQuota::Ticket> served;
  EXPECT_TRUE(quota.CancelWait(first, served));
  EXPECT_FALSE(quota.CancelWait(first, served));
  EXPECT_THAT(Back(quota, tenant, {2, 2}), ElementsAre(second));
  EXPECT_FALSE(quota.CancelWait(second, served)) << "it has its room";
  EXPECT_THAT(served, IsEmpty());
  EXPECT_EQ(quota.used().records, 9U);
}

// Fails if: after a large load has left, a load behind it still waits although it fits.
TEST(BufferQuota, I14ALoadThatLeavesLetsThoseBehindItIn) {
  BufferQuota quota(kSmallQuota);
  const BufferQuota::Tenant tenant{quota.AddStream(), {}};
  ASSERT_TRUE(quota.Take(tenant, {1, kSmallQuota.max_bytes / 2}));
  const auto large = quota.Wait(tenant, {1, kSmallQuota.max_bytes});
  const auto small = quota.Wait(tenant, {1, 1});
  std::vector<BufferQuota::Ticket> served;
  EXPECT_TRUE(quota.CancelWait(large, served));
  EXPECT_THAT(served, ElementsAre(small));
  EXPECT_FALSE(quota.has_waiting());
  EXPECT_TRUE(quota.Take(tenant, {1, 1}));
}

// Fails if: without the bound of a tenant, the one that is stuck takes all space that is freed.
TEST(BufferQuota, OneTenantThatIsStuckLeavesRoomForOthers) {
  BufferQuota quota(kSmallQuota);
  const BufferQuota::Tenant stuck{quota.AddStream(), {}};
  const BufferQuota::Tenant lively{quota.AddStream(), {}};
  while (quota.Take(stuck, {1, 1})) {
  }
  EXPECT_EQ(quota.used(stuck).records, 5U);
  const auto more = quota.Wait(stuck, {1, 1});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(quota.Take(lively, {1, 1}));
    EXPECT_THAT(Back(quota, lively, {1, 1}), IsEmpty());
  }
  EXPECT_THAT(Back(quota, stuck, {1, 1}), ElementsAre(more));
}

/// Returns the tenant of shard `number` of a stream.
BufferQuota::Tenant ShardOf(std::size_t stream, std::uint64_t number) {
  return {stream, ShardId{number}};
}

// Fails if: one shard of a stream may take the whole quota.
TEST(BufferQuota, OneShardThatIsStuckLeavesRoomForOthers) {
  BufferQuota quota({.max_records = 1'000, .max_bytes = 1'000'000});
  const std::size_t stream = quota.AddStream();
  quota.SetShards(stream, 10);
  EXPECT_EQ(Fill(quota, ShardOf(stream, 0)), 500U);
  EXPECT_EQ(Fill(quota, ShardOf(stream, 1)), 250U);
  EXPECT_TRUE(quota.Take(ShardOf(stream, 2), {100, 100}));
}

TEST(BufferQuota, TheOnlyShardOfTheOnlyStreamHasAllOfIt) {
  BufferQuota quota(kSmallQuota);
  const std::size_t stream = quota.AddStream();
  quota.SetShards(stream, 1);
  EXPECT_EQ(Fill(quota, ShardOf(stream, 0)), 10U);
}

// Fails if: a stream with many shards gets more of the quota than a stream with one.
TEST(BufferQuota, OneStreamOfManyShardsThatAreStuckLeavesRoomForOthers) {
  BufferQuota quota({.max_records = 1'000, .max_bytes = 1'000'000});
  const std::size_t stuck = quota.AddStream();
  const std::size_t lively = quota.AddStream();
  quota.SetShards(stuck, 100);
  std::size_t records = 0;
  for (std::uint64_t shard = 0; shard < 100; ++shard) {
    records += Fill(quota, ShardOf(stuck, shard));
  }
  EXPECT_LE(records, 500U);
  EXPECT_GE(records, 490U);
  EXPECT_GE(Fill(quota, {lively, {}}), 245U);
}

// Fails if: a busy shard takes all of its stream's part while other streams exist.
TEST(BufferQuota, OneShardThatIsStuckLeavesItsStreamRoomBesideOtherStreams) {
  BufferQuota quota({.max_records = 999, .max_bytes = 999'000});
  const std::size_t stream = quota.AddStream();
  quota.AddStream();
  quota.SetShards(stream, 10);
  EXPECT_EQ(Fill(quota, ShardOf(stream, 0)), 333U);
  EXPECT_EQ(Fill(quota, ShardOf(stream, 1)), 111U);
}

// Fails if: a shard that no longer exists keeps a part of the quota, or an entry in its memory.
TEST(BufferQuota, ATenantIsForgottenWhenItHasNoRoom) {
  BufferQuota quota(kSmallQuota);
  const std::size_t stream = quota.AddStream();
  for (std::uint64_t shard = 0; shard < 1'000; ++shard) {
    ASSERT_TRUE(quota.Take(ShardOf(stream, shard), {10, 10}));
    EXPECT_THAT(Back(quota, ShardOf(stream, shard), {10, 0}), IsEmpty());
    EXPECT_EQ(quota.tenants(), 1U) << "bytes without a record count";
    EXPECT_THAT(Back(quota, ShardOf(stream, shard), {0, 10}), IsEmpty());
  }
  EXPECT_EQ(quota.tenants(), 0U);
  EXPECT_EQ(quota.used().records, 0U);
}

// Fails if: a caller of another shard waits behind one whose shard has used its part.
TEST(BufferQuota, ACallerOfAHotShardDoesNotHoldUpOthers) {
  BufferQuota quota({.max_records = 100, .max_bytes = 100'000});
  const std::size_t stream = quota.AddStream();
  quota.SetShards(stream, 2);
  EXPECT_EQ(Fill(quota, ShardOf(stream, 0)), 50U);
  const auto hot = quota.Wait(ShardOf(stream, 0), {1, 1});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(quota.Take(ShardOf(stream, 1), {1, 1}));
    EXPECT_THAT(Back(quota, ShardOf(stream, 1), {1, 1}), IsEmpty());
  }
  EXPECT_THAT(Back(quota, ShardOf(stream, 0), {1, 1}), ElementsAre(hot));
}

// Fails if: a busy shard excludes the other shards of its stream because another stream is busy,
// too.
TEST(BufferQuota, I14AShardHasRoomBesideABusyOneAndABusyStream) {
  BufferQuota quota({.max_records = 9'990, .max_bytes = 9'990'000});
  const std::size_t stream = quota.AddStream();
  const std::size_t other = quota.AddStream();
  quota.SetShards(stream, 10);
  Fill(quota, ShardOf(stream, 0));
  Fill(quota, {other, {}});
  EXPECT_GE(Fill(quota, ShardOf(stream, 1)), 40U);
  EXPECT_EQ(Fill(quota, ShardOf(stream, 0)), 0U);
}

// Fails if: a large load waits for ever because another stream takes all space that is freed.
TEST(BufferQuota, I14ALargeLoadBesideABusyStreamIsLetIn) {
  BufferQuota quota({.max_records = 1'000, .max_bytes = 1'000});
  const std::size_t stream = quota.AddStream();
  const BufferQuota::Tenant other{quota.AddStream(), {}};
  quota.SetShards(stream, 10);
  Fill(quota, other);
  const auto large = quota.Wait(ShardOf(stream, 0), {1, 600});
  std::vector<BufferQuota::Ticket> served;
  for (int i = 0; i < 3'000 && served.empty(); ++i) {
    served = Back(quota, other, {1, 1});
    while (served.empty() && quota.Take(other, {1, 1})) {
    }
  }
  EXPECT_THAT(served, ElementsAre(large));
  Back(quota, ShardOf(stream, 0), {1, 600});
  EXPECT_TRUE(quota.Take(other, {1, 1}));
}

// Fails if: a large load that does not fit while another stream is stuck stops all other loads.
TEST(BufferQuota, I14ALargeLoadBesideAStuckStreamStopsNobody) {
  BufferQuota quota({.max_records = 1'000, .max_bytes = 1'000});
  const std::size_t stream = quota.AddStream();
  const BufferQuota::Tenant stuck{quota.AddStream(), {}};
  const BufferQuota::Tenant lively{quota.AddStream(), {}};
  quota.SetShards(stream, 10);
  Fill(quota, stuck);
  const auto large = quota.Wait(ShardOf(stream, 0), {1, 700});
  std::vector<BufferQuota::Ticket> served;
  for (int i = 0; i < 3'000 && served.empty(); ++i) {
    ASSERT_TRUE(quota.Take(lively, {1, 1}));
    served = Back(quota, lively, {1, 1});
  }
  EXPECT_THAT(served, ElementsAre(large));
  EXPECT_LE(quota.used().bytes, 1'000U + 700U);
}

// Fails if: callers that waited before the shards were known wait for space of the unknown shard.
TEST(BufferQuota, I14WhoWaitsMovesToItsShard) {
  BufferQuota quota({.max_records = 1'000, .max_bytes = 1'000'000});
  const std::size_t stream = quota.AddStream();
  const BufferQuota::Tenant unknown{stream, {}};
  Fill(quota, unknown);
  const auto early = quota.Wait(unknown, {1, 1});
  quota.SetShards(stream, 10);
  quota.MoveWaiting({{early, ShardOf(stream, 1)}});
  EXPECT_THAT(Back(quota, unknown, {20, 20}), ElementsAre(early));
}

// Fails if: small loads of other shards take all space that is freed before a large load fits.
TEST(BufferQuota, ALargeLoadOfAnEmptyShardIsNotPassedForEver) {
  BufferQuota quota({.max_records = 1'000, .max_bytes = 1'000});
  const std::size_t stream = quota.AddStream();
  quota.SetShards(stream, 10);
  for (std::uint64_t shard = 0; shard < 9; ++shard) Fill(quota, ShardOf(stream, shard));
  const auto large = quota.Wait(ShardOf(stream, 9), {1, 200});
  std::vector<BufferQuota::Ticket> served;
  for (int i = 0; i < 1'000 && served.empty(); ++i) {
    const BufferQuota::Tenant tenant = ShardOf(stream, static_cast<std::uint64_t>(i) % 9);
    if (quota.used(tenant).records > 0) served = Back(quota, tenant, {1, 1});
    while (served.empty() && quota.Take(tenant, {1, 1})) {
    }
  }
  EXPECT_THAT(served, ElementsAre(large));
}

}  // namespace
}  // namespace weir::kinesis
