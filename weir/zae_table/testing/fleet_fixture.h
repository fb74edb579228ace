// Processes that share one simulated table, each through a network with random faults.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/fleet_stream_fixture.h"
#include "weir/zae_table/testing/peer_writes_fixture.h"
#include "weir/zae_table/testing/sim_process_fixture.h"

namespace weir::dynamo {

inline constexpr std::string_view kFleetTable = "limits";
inline constexpr std::string_view kFleetNamespace = "ns-fleet";

/// One process. Only the table is shared with others.
class FleetProcess {
 public:
  FleetProcess(sim::SimScheduler& scheduler, sim::SimServer& server, BucketStoreOptions options,
               milliseconds skew);

  /// Configured as in DynamoBackend.
  DynamoBucketStore& buckets() { return buckets_; }
  sim::SimTransport& network() { return process_.network(); }
  /// Returns the time by the process's own clock.
  UnixMillis now() const { return process_.now(); }
  void SetSkew(milliseconds skew) { process_.SetSkew(skew); }
  /// See SimProcess::FailAtOnce.
  void FailAtOnce() { process_.FailAtOnce(); }

  /// Runs everything in the process, including its callers.
  sim::StoppableScheduler& scheduler() { return process_.scheduler(); }
  /// Until then nothing runs in the process; requests that it has sent arrive.
  void StopUntil(Instant until);
  /// Returns by when a call that is due at `due`, and may be `late`, must have its result: a
  /// process that is stopped reports it when it continues.
  Instant ResultsBy(Instant due, nanoseconds late) const;

  /// From now on nothing that the process sends reaches the table, and its results do not count.
  /// Requests that it has sent before arrive.
  void Die() { network().faults.down = is_dead_ = true; }
  bool is_dead() const { return is_dead_; }

 private:
  SimProcess process_;
  bool is_dead_ = false;
  std::vector<std::pair<Instant, Instant>> stops_;  // in the order of their beginnings
  Table table_;
  DynamoBucketStore buckets_;
};

/// The sums of each planned write, by limit. The key is the value that the write stores in its
/// slot.
using PlannedWrites = std::map<FenceValue, std::map<std::string, MeterAmounts>>;

class Fleet {
 public:
  /// `write_capacity`: BucketStoreOptions::write_capacity of every process.
  explicit Fleet(std::uint64_t seed, std::int64_t write_capacity = kWriteCapacity);

  FleetProcess& Join(milliseconds skew = milliseconds(0));
  /// Two processes of one seed simulate a fork: they have the same instance id, and the same
  /// numbers drawn from the seed.
  FleetProcess& JoinWithSeed(std::uint64_t seed, milliseconds skew = milliseconds(0));
  const std::vector<std::unique_ptr<FleetProcess>>& processes() const { return processes_; }
  /// Enables the table's time to live: SimDynamo::SweepTtl deletes expired items.
  void EnableTtl();
  sim::SimScheduler& scheduler() { return scheduler_; }
  const sim::SimScheduler& scheduler() const { return scheduler_; }
  sim::SimDynamo& server() { return server_; }
  const sim::SimDynamo& server() const { return server_; }
  /// Passes the requests of clients of zae-limiter to the server.
  PeerWrites& peers() { return peers_; }
  const PeerWrites& peers() const { return peers_; }
  /// BucketStoreOptions::write_capacity of every process.
  std::int64_t write_capacity() const { return write_capacity_; }
  /// Returns the faults in the networks of all processes.
  sim::NetworkCounts CountFaults() const;
  const sim::DynamoTable& table() const { return *server_.Table(kFleetTable); }
  /// Returns the movements of the limits of all buckets, by (partition key without the shard,
  /// limit).
  Movements ReadMovements() const;
  std::vector<Division> ReadDivisions() const;

 private:
  Rng rng_;
  Rng random_;  // shared by all processes
  std::int64_t write_capacity_;
  sim::SimScheduler scheduler_;
  sim::SimDynamo server_;
  PeerWrites peers_{server_, kFleetTable};
  PlannedWrites planned_;
  std::vector<std::unique_ptr<FleetProcess>> processes_;
};

}  // namespace weir::dynamo
