#include "weir/dynamodb/streams/lease_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamodb/streams/memory_leases.h"
#include "weir/dynamodb/testing/sim_table.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ShardLease SomeLease() {
  return {.shard = "s1",
          .owner = "a",
          .epoch = 3,
          .version = 1,
          .term = milliseconds(30'000),
          .parent = "s0",
          .wanted_by = "b",
          .position = {ShardPosition::At::kAfter, "123", UnixMillis{5}}};
}

ShardLease Later(ShardLease lease) {
  ++lease.version;
  lease.position = {ShardPosition::At::kEnd};
  return lease;
}

/// Both implementations of the rule of writes.
struct TableAndMemory {
  SimTable sim{PlainLayout()};
  LeaseTable table{sim.table, "leases"};
  MemoryLeases memory;

  LeaseResult Write(const LeaseWrite& write) {
    const auto written =
        sim.Ask<LeaseResult>([&](auto done) { table.Write(write, kNever, std::move(done)); });
    EXPECT_TRUE(written) << written.error().message;
    const LeaseResult expected = memory.Write(write);
    EXPECT_EQ(written->applied, expected.applied);
    EXPECT_EQ(written->current, expected.current);
    return *written;
  }
  Result<StoredLeases> ReadStored() {
    return sim.Ask<StoredLeases>([&](auto done) { table.ReadAll(kNever, std::move(done)); });
  }
  Result<std::vector<ShardLease>> ReadAll() {
    WEIR_ASSIGN_OR_RETURN(StoredLeases stored, ReadStored());
    return std::move(stored.leases);
  }
};

TEST(LeaseTable, AWriteNeedsTheVersionThatWasSeen) {
  TableAndMemory leases;
  const ShardLease lease = SomeLease();
  EXPECT_TRUE(leases.Write({.lease = lease, .expected = 0}).applied);
  EXPECT_THAT(*leases.ReadAll(), ElementsAre(lease));
  EXPECT_EQ(leases.Write({.lease = lease, .expected = 0}).current, lease);
  EXPECT_EQ(leases.Write({.lease = Later(lease), .expected = 2}).current, lease);
  EXPECT_TRUE(leases.Write({.lease = Later(lease), .expected = 1}).applied);
  EXPECT_THAT(*leases.ReadAll(), ElementsAre(Later(lease)));
  EXPECT_EQ(*leases.ReadAll(), leases.memory.ReadAll());
}

TEST(LeaseTable, ALeaseIsRemovedInItsVersion) {
  TableAndMemory leases;
  EXPECT_TRUE(leases.Write({.lease = SomeLease(), .expected = 0}).applied);
  EXPECT_FALSE(leases.Write({.lease = SomeLease(), .expected = 7, .remove = true}).applied);
  EXPECT_TRUE(leases.Write({.lease = SomeLease(), .expected = 1, .remove = true}).applied);
  EXPECT_THAT(*leases.ReadAll(), IsEmpty());
  EXPECT_FALSE(leases.Write({.lease = SomeLease(), .expected = 1}).current);
}

TEST(LeaseTable, ADamagedItemIsNamed) {
  Item item = ToLeaseItem(SomeLease());
  item["position"] = Of("elsewhere");
  const auto lease = ReadLease("s1", item);
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, Code::kDataLoss);
  EXPECT_THAT(lease.error().message, HasSubstr("lease of s1: position"));
  for (const char* name : {"lease_epoch", "lease_version", "lease_term", "sequence_number"}) {
    Item without = ToLeaseItem(SomeLease());
    without.erase(name);
    EXPECT_FALSE(ReadLease("s1", without)) << name;
  }
}

// Fails if: a damaged item ends the consumers, or holds a shard for a process that is gone.
TEST(LeaseTable, AFieldThatNoProcessWritesIsDamage) {
  const std::vector<std::pair<std::string, Value>> fields = {
      {"sequence_number", Of("elsewhere")},
      {"sequence_number", Of(std::string(41, '1'))},
      {"lease_term", Of(std::int64_t{3'600'001})},
      {"lease_epoch", Of(INT64_MAX)},
      {"lease_version", Of(INT64_MAX)}};
  for (const auto& [name, value] : fields) {
    Item item = ToLeaseItem(SomeLease());
    item[name] = value;
    const auto lease = ReadLease("s1", item);
    ASSERT_FALSE(lease) << name;
    EXPECT_EQ(lease.error().code, Code::kDataLoss);
    EXPECT_THAT(lease.error().message, HasSubstr(name));
  }
}

TEST(LeaseTable, ASequenceNumberIsReadWithoutItsZeros) {
  Item item = ToLeaseItem(SomeLease());
  item["sequence_number"] = Of("000000000000000000123");
  EXPECT_EQ(ReadLease("s1", item), SomeLease());
}

// Fails if: one damaged item makes all leases unreadable.
TEST(LeaseTable, ADamagedItemIsReadNextToTheOthers) {
  TableAndMemory leases;
  EXPECT_TRUE(leases.Write({.lease = SomeLease(), .expected = 0}).applied);
  Item item = ToLeaseItem(SomeLease());
  item["PK"] = Of("leases");
  item["SK"] = Of("s2");
  item["position"] = Of("elsewhere");
  leases.sim.Put(std::move(item));
  const auto stored = leases.ReadStored();
  ASSERT_TRUE(stored);
  EXPECT_THAT(stored->leases, ElementsAre(SomeLease()));
  ASSERT_EQ(stored->damaged.size(), 1U);
  EXPECT_EQ(stored->damaged[0].shard, "s2");
  EXPECT_THAT(stored->damaged[0].error.message, HasSubstr("delete the item"));
  EXPECT_THAT(stored->damaged[0].error.message, HasSubstr("'leases' and 's2'"));
}

TEST(LeaseTable, AFailureIsAnError) {
  TableAndMemory leases;
  leases.sim.client.refusal = "ProvisionedThroughputExceededException";
  EXPECT_EQ(leases.ReadAll().error().code, Code::kUnavailable);
  const auto written = leases.sim.Ask<LeaseResult>(
      [&](auto done) { leases.table.Write({.lease = SomeLease()}, kNever, std::move(done)); });
  EXPECT_EQ(written.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace weir::dynamo
