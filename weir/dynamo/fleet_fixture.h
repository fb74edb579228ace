// Processes that share one simulated table through a network that a seed makes bad.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/dynamo/bucket_store.h"
#include "weir/dynamo/sim_process_fixture.h"
#include "weir/sim/dynamo_table.h"
#include "weir/sim/sim_dynamo.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::dynamo {

inline constexpr std::string_view kFleetTable = "limits";
inline constexpr std::string_view kFleetNamespace = "ns-fleet";

/// What one write did to one limit of one bucket: its returns, its takes, or its debits. That it
/// was applied, the table's own stream says; what the sums consist of, the process that planned it.
struct Movement {
  UnixMillis at;
  std::int64_t consumed = 0;  ///< millitokens; negative: returns
  bool is_adjust = false;     ///< returns or debits
};
using Movements = std::map<std::pair<std::string, std::string>, std::vector<Movement>>;

/// Takes less returns in millitokens, by (partition key of a shard, limit).
class Fleet;
std::map<std::pair<std::string, std::string>, std::int64_t> Consumed(const Fleet& fleet);

/// One transaction that made shards, or told shards how many they are; tokens as they were and are
/// at one instant, all shards together, by limit.
struct Division {
  std::string bucket;
  std::int64_t shards_before = 0;
  std::int64_t shards = 0;
  std::map<std::string, std::int64_t> tokens_before;
  std::map<std::string, std::int64_t> tokens;
};
/// A message for each one after which there was more than before.
std::vector<std::string> Minted(const std::vector<Division>& divisions);

/// Never over-admit, on every pair of instants: between them no more is taken than the capacity,
/// what comes back by time in between (and `slack` more: clocks that differ, and how long a write
/// was on its way), and what is given back, each return once. A message for each limit that breaks
/// it. `quotas` by limit name.
std::vector<std::string> OverAdmissions(const Movements& movements,
                                        const std::map<std::string, Quota>& quotas,
                                        milliseconds slack);

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
  const std::vector<std::unique_ptr<FleetProcess>>& processes() const { return processes_; }
  /// The table has a time to live: SimDynamo::SweepTtl deletes what has expired.
  void EnableTtl();
  sim::SimScheduler& scheduler() { return scheduler_; }
  sim::SimDynamo& server() { return server_; }
  const sim::SimDynamo& server() const { return server_; }
  /// Of all processes.
  sim::NetworkCounts CountFaults() const;
  const sim::DynamoTable& table() const { return *server_.Table(kFleetTable); }
  /// Of the limits of all buckets, by (partition key without the shard, limit).
  Movements ReadMovements() const;
  std::vector<Division> ReadDivisions() const;

 private:
  Rng rng_;
  std::int64_t write_capacity_;
  sim::SimScheduler scheduler_;
  sim::SimDynamo server_;
  PlannedWrites planned_;
  std::vector<std::unique_ptr<FleetProcess>> processes_;
};

}  // namespace weir::dynamo
