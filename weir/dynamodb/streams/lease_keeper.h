// Decides which leases a process creates, takes, renews, releases and removes, without I/O.
//
// A lease in the table, seen from one process:
//
//   (none) --create--> free --take: epoch + 1--> held --renew, store a position--> held
//                       ^                         |  |
//                       +-------- release --------+  +-- changed by another process --> lost
//
// A process takes free and expired leases up to its share of the shards. If no lease can be taken,
// and another process has more than its share, it writes its name into one of that process' leases
// (wanted_by); the owner completes the batch in flight, stores the position and releases the lease.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/aws/json_exchange.h"
#include "weir/base/rng.h"
#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/runtime/backoff.h"

namespace weir::dynamo {

/// The effects of an event on the shards that this process reads.
struct LeaseChanges {
  std::vector<ShardLease> taken{};
  std::vector<ShardLost> lost{};
  std::vector<std::string> released{};
};

/// Not thread-safe.
class LeaseKeeper {
 public:
  /// `options` must outlive the keeper.
  explicit LeaseKeeper(const ConsumerOptions& options);

  /// Returns the requests that are due. `next_id` is the id of the first one, and is counted up.
  std::vector<ConsumerStep::LeaseRequest> MakeRequests(Moment at, std::uint64_t& next_id);
  /// Returns when requests become due without another event.
  std::optional<Instant> NextWake() const;
  /// Handle the results of requests; those of unknown ids are ignored.
  LeaseChanges OnRead(std::uint64_t id, LeasesRead read, Instant now, Rng& rng,
                      std::vector<ConsumerEvent>& events);
  LeaseChanges OnWrite(std::uint64_t id, const LeaseOutcome& outcome, Instant now, Rng& rng,
                       std::vector<ConsumerEvent>& events);
  /// A listing of all shards, which began at `begun`, is complete.
  void OnListing(std::vector<StreamShard> shards, Instant begun);

  /// Notes the position of a held shard, to be stored with the next write.
  void SetPosition(std::string_view shard, const ShardPosition& position);
  /// Releases a held shard with its position.
  void Release(std::string_view shard);
  /// Returns whether the shard is held, its lease has not expired, and it is not being released.
  bool MayDeliver(std::string_view shard, Instant now) const;
  /// Returns whether the held shard should be released: another process should get it, or this one
  /// drains.
  bool ShouldRelease(std::string_view shard, Instant now) const;
  /// Takes no more leases.
  void Drain() { is_draining_ = true; }
  /// Returns whether this process holds a lease that has not expired, or has a write in flight that
  /// takes one.
  bool HoldsAny(Instant now) const;
  /// Returns the held shards whose positions are not known to be stored.
  std::vector<std::string> FindUnstored() const;
  /// Returns the number of leases that cannot be read.
  std::size_t CountDamaged() const;

 private:
  struct Entry {
    ShardLease lease{};       ///< as stored
    bool is_stored = false;   ///< false: it is being created
    bool is_damaged = false;  ///< the stored lease cannot be read, except for the shard's name
    Instant seen{};           ///< when this process first saw this version
    bool is_held = false;
    bool is_releasing = false;
    Instant valid_until{};       ///< the end of the validity of a held lease
    Instant written{};           ///< the time at which the last write was sent
    ShardPosition progress{};    ///< the progress of a held lease, which is to be stored
    std::uint64_t write_id = 0;  ///< the id of the write in flight; 0: none
    LeaseWrite sent{};           ///< the last write
    /// The time at which the first write without a known result was sent.
    std::optional<Instant> unresolved_since{};
    Instant retry_at{};  ///< the lease is not written before this time
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  /// The requests that one call of MakeRequests returns.
  struct RequestPlan {
    Instant now;
    std::uint64_t& next_id;
    std::vector<ConsumerStep::LeaseRequest> requests{};
  };

  void PlanRead(RequestPlan& plan);
  void PlanCreations(Moment at, RequestPlan& plan);
  void PlanHeld(Entry& entry, RequestPlan& plan);
  void PlanTakes(RequestPlan& plan);
  /// Asks the process with the most leases for one of them (wanted_by), if this process has less
  /// than its share and cannot take any.
  void PlanHandoverRequest(RequestPlan& plan);
  void PlanRemovals(RequestPlan& plan);
  void Write(Entry& entry, LeaseWrite write, RequestPlan& plan);

  /// Returns the lease to create for a shard that has none: its own lease, or the parent's if the
  /// service removed the parent before this process listed it, and the parent has no lease. Before
  /// the leases are initialized, the result is always the shard's own lease.
  ShardLease FirstLeaseFor(const StreamShard& shard, Moment at) const;
  /// Returns the position of the first lease of a shard.
  ShardPosition StartPosition(const StreamShard& shard, Moment at) const;
  void NoteDamaged(DamagedLease lease, Instant now, LeaseChanges& changes,
                   std::vector<ConsumerEvent>& events);
  /// Copies a stored lease, which a read or a write returned, to the entry.
  void Adopt(Entry& entry, const ShardLease& current, Instant now);
  /// Compares the stored lease of an entry with the last write of this process, and notes whether
  /// this process has taken it, still holds it, has released it or has lost it. `applied`: the
  /// response of the last write says that it was applied. `since`: the start of the lease's term,
  /// if it was taken or renewed.
  void Settle(Entry& entry, bool applied, Instant since, LeaseChanges& changes);
  void Lose(Entry& entry, LeaseChanges& changes);

  const Entry* Find(std::string_view shard) const;
  const StreamShard* FindListed(std::string_view shard) const;
  bool IsInitialized() const;
  /// Returns whether all shards that must be read before this one have ended.
  bool IsReady(const Entry& entry) const;
  /// Returns whether the shard is to be read now. Only active shards are divided among the
  /// processes.
  bool IsActive(const Entry& entry) const;
  bool IsExpired(const Entry& entry, Instant now) const;
  bool IsTakeable(const Entry& entry, Instant now) const;
  bool IsFinished(const Entry& entry) const;
  std::size_t CountHeld() const;
  /// Returns the number of shards that each process holds, by name. A process that holds none but
  /// has asked for one has the number 0. Expired leases and finished shards are not counted.
  std::map<std::string, std::size_t, std::less<>> CountByOwner(Instant now) const;
  /// Returns the number of active shards for each process, rounded up.
  std::size_t ShareOf(Instant now) const;

  const ConsumerOptions& options_;
  bool is_draining_ = false;
  bool is_listed_ = false;
  Instant listing_begun_{};
  Instant planned_at_{};  ///< the time at which requests were last made
  std::vector<StreamShard> listed_;
  bool is_loaded_ = false;
  std::uint64_t read_id_ = 0;
  Instant read_due_{};
  Instant read_sent_{};
  bool failing_ = false;
  Backoff backoff_;
  Entries entries_;
};

}  // namespace weir::dynamo
