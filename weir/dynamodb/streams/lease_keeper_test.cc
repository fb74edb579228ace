#include "weir/dynamodb/streams/lease_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamodb/streams/memory_leases.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr seconds kTerm{30};

/// One process with the leases of a table.
struct Keeper {
  Keeper(MemoryLeases& its_table, std::string owner)
      : options{.owner = std::move(owner), .term = kTerm}, table(its_table), keeper(options) {
    keeper.OnListing({{"s1", "", "1"}, {"s2", "", "1"}}, Instant{});
  }

  /// Carries out the requests that are due at `now`, until there are none. If `loses`, the
  /// responses of writes are lost.
  void Run(Instant now, bool loses = false) {
    for (int round = 0; round < 10; ++round) {
      const auto requests = keeper.MakeRequests({now, {}}, next_id);
      if (requests.empty()) return;
      for (const auto& request : requests) Respond(request, now, loses);
    }
  }
  void Respond(const ConsumerStep::LeaseRequest& request, Instant now, bool loses) {
    if (!request.write) {
      return Note(keeper.OnRead(request.id, Read(), now, rng, events));
    }
    LeaseOutcome outcome = table.Write(*request.write);
    if (loses) outcome = Fail(Code::kUnavailable, "no response");
    Note(keeper.OnWrite(request.id, outcome, now, rng, events));
  }
  /// The leases of the table, one of which may be damaged.
  StoredLeases Read() const {
    StoredLeases read{table.ReadAll()};
    if (damaged.empty()) return read;
    std::erase_if(read.leases, [&](const ShardLease& lease) { return lease.shard == damaged; });
    read.damaged.push_back({damaged, {Code::kDataLoss, "position"}});
    return read;
  }
  void Note(const LeaseChanges& changes) {
    for (const ShardLease& lease : changes.taken) taken.push_back(lease.shard);
    for (const ShardLost& loss : changes.lost) lost.push_back(loss.shard);
    for (const std::string& shard : changes.released) released.push_back(shard);
  }
  ShardLease Stored(const std::string& shard) const {
    for (const ShardLease& lease : table.ReadAll()) {
      if (lease.shard == shard) return lease;
    }
    return {};
  }

  const ConsumerOptions options;
  MemoryLeases& table;
  LeaseKeeper keeper;
  Rng rng{1};
  std::uint64_t next_id = 1;
  std::vector<ConsumerEvent> events;
  std::vector<std::string> taken, lost, released;
  std::string damaged;
};

constexpr Instant kStart{1'000'000'000'000};

TEST(LeaseKeeper, AnOnlyProcessTakesAllShards) {
  MemoryLeases table;
  Keeper a(table, "a");
  a.Run(kStart);
  EXPECT_THAT(a.taken, ElementsAre("s1", "s2"));
  EXPECT_EQ(a.Stored("s1").owner, "a");
  EXPECT_EQ(a.Stored("s1").epoch, 1U);
  EXPECT_EQ(a.Stored(kInitializedLease).owner, "");
  EXPECT_TRUE(a.keeper.MayDeliver("s1", kStart + kTerm - seconds(1)));
  EXPECT_FALSE(a.keeper.MayDeliver("s1", kStart + kTerm)) << "the term has passed";
}

TEST(LeaseKeeper, AHeldLeaseIsRenewedWithItsPosition) {
  MemoryLeases table;
  Keeper a(table, "a");
  a.Run(kStart);
  a.keeper.SetPosition("s1", {ShardPosition::At::kAfter, "5"});
  a.Run(kStart + seconds(9));
  EXPECT_EQ(a.Stored("s1").position.at, ShardPosition::At::kTrimHorizon) << "not due";
  a.Run(kStart + seconds(10));
  EXPECT_EQ(a.Stored("s1").position.sequence_number, "5");
  EXPECT_EQ(a.Stored("s1").epoch, 1U);
  EXPECT_TRUE(a.keeper.MayDeliver("s1", kStart + seconds(39)));
}

// Fails if: a lease expires by the time of another process, or is taken without a new epoch.
TEST(LeaseKeeper, ALeaseThatDoesNotChangeForItsTermIsTaken) {
  MemoryLeases table;
  Keeper a(table, "a");
  Keeper b(table, "b");
  a.Run(kStart);
  const Instant other{7};  // the clock of b
  b.Run(other);
  b.Run(other + kTerm - seconds(1));
  EXPECT_THAT(b.taken, IsEmpty());
  b.Run(other + kTerm);
  EXPECT_THAT(b.taken, ElementsAre("s1", "s2"));
  EXPECT_EQ(b.Stored("s1").epoch, 2U);
  a.Run(kStart + kTerm + seconds(1));
  EXPECT_THAT(a.lost, ElementsAre("s1", "s2"));
}

// Fails if: the process that lost the response does not look at the lease that is stored.
TEST(LeaseKeeper, ATakeWithoutAResponseIsResolvedByTheNextWrite) {
  MemoryLeases table;
  Keeper a(table, "a");
  a.Run(kStart);
  a.keeper.Drain();
  a.keeper.Release("s1");
  a.keeper.Release("s2");
  a.Run(kStart);
  ASSERT_THAT(a.released, SizeIs(2));
  Keeper b(table, "b");
  b.Run(kStart, true);
  EXPECT_THAT(b.taken, IsEmpty());
  EXPECT_EQ(b.Stored("s1").owner, "b") << "the write was applied";
  b.Run(kStart + seconds(5));
  EXPECT_THAT(b.taken, ElementsAre("s1", "s2"));
  EXPECT_EQ(b.Stored("s1").epoch, 2U);
  EXPECT_FALSE(b.keeper.MayDeliver("s1", kStart + kTerm)) << "counted from the first write";
}

TEST(LeaseKeeper, AnotherProcessAsksForItsShare) {
  MemoryLeases table;
  Keeper a(table, "a");
  Keeper b(table, "b");
  a.Run(kStart);
  b.Run(kStart + seconds(1));
  EXPECT_THAT(b.taken, IsEmpty());
  a.Run(kStart + seconds(11));
  const bool first = a.keeper.ShouldRelease("s1", kStart + seconds(11));
  const bool second = a.keeper.ShouldRelease("s2", kStart + seconds(11));
  ASSERT_NE(first, second) << "one of two";
  a.keeper.Release(first ? "s1" : "s2");
  a.Run(kStart + seconds(11));
  EXPECT_THAT(a.released, SizeIs(1));
  b.Run(kStart + seconds(12));
  EXPECT_THAT(b.taken, a.released);
}

TEST(LeaseKeeper, AReleasedLeaseKeepsItsPosition) {
  MemoryLeases table;
  Keeper a(table, "a");
  a.Run(kStart);
  a.keeper.Drain();
  a.keeper.SetPosition("s1", {ShardPosition::At::kAfter, "5"});
  EXPECT_TRUE(a.keeper.ShouldRelease("s1", kStart));
  a.keeper.Release("s1");
  a.keeper.Release("s2");
  EXPECT_TRUE(a.keeper.HoldsAny(kStart));
  a.Run(kStart);
  EXPECT_FALSE(a.keeper.HoldsAny(kStart));
  EXPECT_EQ(a.Stored("s1").owner, "");
  EXPECT_EQ(a.Stored("s1").position.sequence_number, "5");
}

// Fails if: the shard is begun at the horizon, which hides the missing records.
TEST(LeaseKeeper, ALaterShardIsReadFromItsFirstNumber) {
  MemoryLeases table;
  Keeper a(table, "a");
  a.Run(kStart);
  a.keeper.OnListing({{"s1", "", "1"}, {"s2", "", "1"}, {"s3", "s1", "77"}}, kStart);
  a.Run(kStart);
  EXPECT_EQ(a.Stored("s3").position, (ShardPosition{ShardPosition::At::kAt, "77"}));
  EXPECT_EQ(a.Stored("s3").owner, "") << "its parent has not ended";
  EXPECT_THAT(a.events, IsEmpty());
}

// Fails if: the parent is forgotten when a process ends before the gap is stored.
TEST(LeaseKeeper, AnUnknownParentIsReadBeforeItsChild) {
  MemoryLeases table;
  Keeper a(table, "a");
  a.Run(kStart);
  a.keeper.OnListing({{"s1", "", "1"}, {"s2", "", "1"}, {"s9", "s8", "77"}}, kStart);
  a.Run(kStart);
  EXPECT_EQ(a.Stored("s8").owner, "a") << "its reader finds that it is missing: a gap";
  EXPECT_EQ(a.Stored("s9").position, (ShardPosition{ShardPosition::At::kAt, "77"}));
  EXPECT_EQ(a.Stored("s9").owner, "");
  a.keeper.SetPosition("s8", {ShardPosition::At::kEnd});
  a.keeper.Release("s8");
  a.Run(kStart);
  EXPECT_EQ(a.Stored("s9").owner, "a");
}

// Fails if: one damaged item blocks all shards, or is replaced without a word, or its children are
// read before it.
TEST(LeaseKeeper, ADamagedLeaseIsReportedAndOnlyItsShardWaits) {
  MemoryLeases table;
  Keeper a(table, "a");
  a.Run(kStart);
  Keeper b(table, "b");
  b.damaged = "s1";
  b.keeper.OnListing({{"s1", "", "1"}, {"s2", "", "1"}, {"s3", "s1", "5"}}, kStart);
  for (int i = 0; i < 10; ++i) b.Run(kStart + i * seconds(11));
  EXPECT_THAT(b.taken, ElementsAre("s2"));
  EXPECT_EQ(b.keeper.CountDamaged(), 1U);
  ASSERT_THAT(b.events, SizeIs(1)) << "once";
  EXPECT_EQ(std::get<LeaseDamaged>(b.events[0]).lease.shard, "s1");
  EXPECT_EQ(b.Stored("s1").owner, "a") << "it is left as it is";
  EXPECT_EQ(b.Stored("s3").owner, "");
  b.damaged.clear();
  b.Run(kStart + seconds(200));
  b.Run(kStart + seconds(240));
  EXPECT_THAT(b.taken, ElementsAre("s2", "s1")) << "it was repaired";
  EXPECT_EQ(b.keeper.CountDamaged(), 0U);
}

// Fails if: positions that are not stored are forgotten at the end of a drain.
TEST(LeaseKeeper, PositionsThatAreNotStoredAreKnown) {
  MemoryLeases table;
  Keeper a(table, "a");
  a.Run(kStart);
  EXPECT_THAT(a.keeper.FindUnstored(), IsEmpty());
  a.keeper.SetPosition("s2", {ShardPosition::At::kAfter, "5"});
  EXPECT_THAT(a.keeper.FindUnstored(), ElementsAre("s2"));
  a.keeper.Release("s2");
  a.Run(kStart);
  EXPECT_THAT(a.keeper.FindUnstored(), IsEmpty());
}

TEST(LeaseKeeper, FailuresAreReportedOnceAndRetried) {
  MemoryLeases table;
  Keeper a(table, "a");
  const auto requests = a.keeper.MakeRequests({kStart, {}}, a.next_id);
  ASSERT_THAT(requests, SizeIs(1));
  a.Note(a.keeper.OnRead(requests[0].id, Fail(Code::kUnavailable, "no"), kStart, a.rng, a.events));
  ASSERT_THAT(a.events, SizeIs(1));
  EXPECT_LE(*a.keeper.NextWake(), kStart + a.options.longest_backoff);
  a.Run(kStart + a.options.longest_backoff);
  EXPECT_THAT(a.taken, SizeIs(2));
}

}  // namespace
}  // namespace weir::dynamo
