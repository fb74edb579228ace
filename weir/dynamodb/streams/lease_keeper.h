// Decides which leases a process creates, takes, renews, releases and removes, without I/O.
//
// A lease in the table, seen from one process:
//
//   (none) --create--> free --take: epoch + 1--> held --renew, store a position--> held
//                       ^                         |  |
//                       +-------- release --------+  +-- changed by another process --> lost
//
// A process takes free and expired leases up to its share of the shards. If none is left, and
// another process has more than its share, it writes its name into one of that process' leases
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
  /// `options` must outlive it.
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
  /// A listing of all shards is complete, which begun at `begun`.
  void OnListing(std::vector<StreamShard> shards, Instant begun);

  /// Notes the position of a held shard, to be stored with the next write.
  void SetPosition(std::string_view shard, const ShardPosition& position);
  /// Releases a held shard with its position.
  void Release(std::string_view shard);
  /// Returns whether the shard is held and its lease has not run out.
  bool MayDeliver(std::string_view shard, Instant now) const;
  /// Returns whether another process should get the held shard.
  bool ShouldRelease(std::string_view shard, Instant now) const;
  /// Takes no more leases.
  void Drain() { is_draining_ = true; }
  /// Returns whether a lease is held that has not run out, or is being taken.
  bool HoldsAny(Instant now) const;
  /// Returns the held shards whose positions are not known to be stored.
  std::vector<std::string> FindUnstored() const;
  /// Returns the number of leases that cannot be read.
  std::size_t CountDamaged() const;

 private:
  struct Entry {
    ShardLease lease{};       ///< as stored
    bool is_stored = false;   ///< false: it is being created
    bool is_damaged = false;  ///< as stored; only the name of the shard is known
    Instant seen{};           ///< when this process first saw this version
    bool is_held = false;
    bool is_releasing = false;
    Instant valid_until{};       ///< the end of the validity of a held lease
    Instant written{};           ///< the time at which the last write was sent
    ShardPosition progress{};    ///< the progress of a held lease, which is to be stored
    std::uint64_t write_id = 0;  ///< the id of the write in flight; 0: none
    LeaseWrite sent{};
    /// The time at which the first write without a known result was sent.
    std::optional<Instant> unresolved{};
    Instant retry_at{};
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  /// The requests of one call of MakeRequests.
  struct Planned {
    Instant now;
    std::uint64_t& next_id;
    std::vector<ConsumerStep::LeaseRequest> requests{};
  };

  void PlanRead(Planned& planned);
  void PlanCreations(Moment at, Planned& planned);
  void PlanHeld(Entry& entry, Planned& planned);
  void PlanTakes(Planned& planned);
  void PlanWish(Planned& planned);
  void PlanRemovals(Planned& planned);
  void Write(Entry& entry, LeaseWrite write, Planned& planned);

  /// Returns the lease to create for a shard that has none: that of its parent, if the service
  /// removed the parent before it was listed.
  ShardLease FirstLeaseFor(const StreamShard& shard, Moment at) const;
  /// Returns where to begin in a shard that has no lease.
  ShardPosition BeginningOf(const StreamShard& shard, Moment at) const;
  void NoteDamaged(DamagedLease lease, Instant now, LeaseChanges& changes,
                   std::vector<ConsumerEvent>& events);
  /// Stores the state of a lease that a result shows.
  void Adopt(Entry& entry, const ShardLease& current, Instant now);
  /// Compares the lease of an entry with what this process believes to hold.
  void Settle(Entry& entry, bool applied, Instant since, LeaseChanges& changes);
  void Lose(Entry& entry, LeaseChanges& changes);

  const Entry* Find(std::string_view shard) const;
  const StreamShard* FindListed(std::string_view shard) const;
  bool IsInitialized() const;
  /// Returns whether all shards that must be read before this one have ended.
  bool IsReady(const Entry& entry) const;
  /// Returns whether the shard should be read now: only such shards are shared.
  bool IsActive(const Entry& entry) const;
  bool IsExpired(const Entry& entry, Instant now) const;
  bool IsTakeable(const Entry& entry, Instant now) const;
  bool IsFinished(const Entry& entry) const;
  std::size_t CountHeld() const;
  /// Returns the number of ready shards of each live process, and of those that want some.
  std::map<std::string, std::size_t, std::less<>> CountByOwner(Instant now) const;
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
