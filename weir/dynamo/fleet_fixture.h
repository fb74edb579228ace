// Processes that share one simulated table through a network that a seed makes bad.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/dynamo/bucket_store.h"
#include "weir/dynamo/fleet_stream_fixture.h"
#include "weir/dynamo/peer_writes_fixture.h"
#include "weir/dynamo/sim_process_fixture.h"
#include "weir/sim/dynamo_table.h"
#include "weir/sim/sim_dynamo.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::dynamo {

inline constexpr std::string_view kFleetTable = "limits";
inline constexpr std::string_view kFleetNamespace = "ns-fleet";

/// One process: everything but the network is its own.
class FleetProcess {
 public:
  FleetProcess(sim::SimScheduler& scheduler, sim::SimServer& server, BucketStoreOptions options,
               milliseconds skew);

  /// As DynamoBackend has them.
  DynamoBucketStore& buckets() { return buckets_; }
  sim::SimTransport& network() { return process_.network(); }
  /// By its own clock.
  UnixMillis now() const { return process_.now(); }
  void SetSkew(milliseconds skew) { process_.SetSkew(skew); }

  /// Of what runs in it, its callers included.
  sim::StoppableScheduler& scheduler() { return process_.scheduler(); }
  /// Until then nothing in it runs; requests that it has sent arrive.
  void StopUntil(Instant until);
  /// When a call that is due at `due`, and may be `late`, is due in view of the stops: a process
  /// that is stopped answers when it goes on.
  Instant AnswersBy(Instant due, nanoseconds late) const;

  /// From now on nothing that it sends reaches the table, and nothing that it answers counts. What
  /// it sent before arrives.
  void Die() { network().faults.down = is_dead_ = true; }
  bool is_dead() const { return is_dead_; }

 private:
  SimProcess process_;
  bool is_dead_ = false;
  std::vector<std::pair<Instant, Instant>> stops_;  // in the order of their beginnings
  Table table_;
  DynamoBucketStore buckets_;
};

/// The sums of each planned write by limit, by the value that it stores in its slot.
using PlannedWrites = std::map<FenceValue, std::map<std::string, MeterAmounts>>;

class Fleet {
 public:
  /// `write_capacity`: BucketStoreOptions, of every process.
  explicit Fleet(std::uint64_t seed, std::int64_t write_capacity = kWriteCapacity);

  FleetProcess& Join(milliseconds skew = milliseconds(0));
  /// Two processes of one seed are what a fork leaves: they have the same instance, and whatever
  /// one of them draws from the seed, the other one draws too.
  FleetProcess& JoinWithSeed(std::uint64_t seed, milliseconds skew = milliseconds(0));
  const std::vector<std::unique_ptr<FleetProcess>>& processes() const { return processes_; }
  /// The table has a time to live: SimDynamo::SweepTtl deletes what has expired.
  void EnableTtl();
  sim::SimScheduler& scheduler() { return scheduler_; }
  const sim::SimScheduler& scheduler() const { return scheduler_; }
  sim::SimDynamo& server() { return server_; }
  const sim::SimDynamo& server() const { return server_; }
  /// The way of clients of zae-limiter to the server.
  PeerWrites& peers() { return peers_; }
  const PeerWrites& peers() const { return peers_; }
  /// BucketStoreOptions.
  std::int64_t write_capacity() const { return write_capacity_; }
  /// Of all processes.
  sim::NetworkCounts CountFaults() const;
  const sim::DynamoTable& table() const { return *server_.Table(kFleetTable); }
  /// Of the limits of all buckets, by (partition key without the shard, limit).
  Movements ReadMovements() const;
  std::vector<Division> ReadDivisions() const;

 private:
  Rng rng_;
  Rng random_;  // of all processes
  std::int64_t write_capacity_;
  sim::SimScheduler scheduler_;
  sim::SimDynamo server_;
  PeerWrites peers_{server_, kFleetTable};
  PlannedWrites planned_;
  std::vector<std::unique_ptr<FleetProcess>> processes_;
};

}  // namespace weir::dynamo
