// The space of a producer: how many records without a result it may hold, and the bytes that they
// occupy.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "weir/kinesis/shards/shard_ranges.h"

namespace weir::kinesis {

/// The bytes that a record occupies in addition to its data and keys: for itself, its callback and
/// its result.
inline constexpr std::size_t kRecordOverhead = 768;

struct BufferQuotaOptions {
  std::size_t max_records = 100'000;
  std::size_t max_bytes = std::size_t{64} << 20;
};

/// A number of records and the bytes that they occupy.
struct Load {
  std::size_t records = 0;
  std::size_t bytes = 0;
};

/// Bounds the space that the records of a producer occupy, in all and for each tenant: a shard of a
/// stream, or the stream if the shard is not known. A stream may hold as much as it leaves free,
/// and a shard as much as it leaves free of its stream's part, so a tenant that is stuck leaves
/// space for the others (dynamic thresholds; Choudhury and Hahne, "Dynamic queue length thresholds
/// for shared-memory packet switches", 1998). The only stream has no such bound, nor has the only
/// shard of a stream. So one busy shard among others of the only stream gets half of the space, one
/// busy shard among others of several streams a third, and one busy stream among others half. The
/// shards of a stream always get an eighth of the free space, in equal parts: a stream that is at
/// its bound because of one shard does not exclude its other shards. A load larger than the quota
/// is accepted if nothing is held.
///
/// Callers that find no space may wait, and are served in order within a tenant. A load does not
/// wait for a load of another tenant, with one exception, without which a large load could wait for
/// ever: if a load of a tenant that holds nothing does not fit, later loads of its stream wait
/// behind it. When as much as the whole quota has been accepted since it began to wait, it is
/// accepted as soon as anything is free, so the quota may be exceeded by one load. Not thread-safe.
///
///            Take: fits
///   load ------------------------------> held --GiveBack--> free again
///     |                                   ^
///     | Wait                              | ServeWaiting: fits, or is overdue
///     +------------------> waiting -------+
///                             |
///                             +--CancelWait, CancelAllWaits--> not taken
class BufferQuota {
 public:
  struct Tenant {
    std::size_t stream = 0;        ///< as AddStream returned it
    std::optional<ShardId> shard;  ///< nothing: the shard is not known

    friend bool operator==(const Tenant&, const Tenant&) = default;
    template <class H>
    friend H AbslHashValue(H state, const Tenant& tenant) {
      const std::uint64_t number = tenant.shard ? tenant.shard->number : 0;
      return H::combine(std::move(state), tenant.stream, tenant.shard.has_value(), number);
    }
  };
  /// Identifies a waiting load. Never 0.
  using Ticket = std::uint64_t;

  explicit BufferQuota(const BufferQuotaOptions& options) : options_(options) {}

  /// Adds a stream whose shards are not known. Returns its number.
  std::size_t AddStream();
  /// Sets the number of shards of a stream, from now on. Tenants of the time before keep their
  /// loads.
  void SetShards(std::size_t stream, std::size_t shards) { streams_[stream].shards = shards; }
  /// Takes `load` if it fits and no load waits before it. Returns false if nothing was taken.
  bool Take(const Tenant& tenant, Load load);
  /// Queues a load that Take refused. ServeWaiting and CancelWait report the tickets of loads that
  /// are taken.
  Ticket Wait(const Tenant& tenant, Load load);
  /// Moves these waiting tickets to other tenants. The caller must call ServeWaiting afterwards.
  void MoveWaiting(const absl::flat_hash_map<Ticket, Tenant>& tenants);
  /// Removes a waiting ticket. Returns false if this ticket does not wait any more. Tickets that
  /// waited behind it and fit now are taken and appended to `served`.
  bool CancelWait(Ticket ticket, std::vector<Ticket>& served);
  /// Removes all waiting tickets; none is served.
  void CancelAllWaits() { waiting_.clear(); }
  /// Frees a load. The caller must call ServeWaiting afterwards. REQUIRES: `tenant` has taken it.
  void GiveBack(const Tenant& tenant, Load load);
  /// Takes the waiting loads that fit now and appends their tickets to `served`.
  void ServeWaiting(std::vector<Ticket>& served);

  const Load& used() const { return used_; }
  Load used(const Tenant& tenant) const;
  /// Returns the number of tenants that hold anything. Other tenants are not stored.
  std::size_t tenants() const { return tenants_.size(); }
  bool has_waiting() const { return !waiting_.empty(); }

 private:
  struct Stream {
    Load used;
    std::size_t shards = 1;
  };
  struct Waiting {
    Ticket ticket = 0;
    Tenant tenant;
    Load load;
    Load before;  // accepted_ when it began to wait
  };

  /// Returns whether the load is within the bounds of quota, stream and tenant.
  bool Fits(const Tenant& tenant, Load load) const;
  /// Returns whether a waiting load may be taken: it fits, or it is overdue and anything is free.
  bool Fits(const Waiting& waiting) const;
  /// Returns whether its tenant holds nothing, so that later loads of the stream wait behind it.
  bool HoldsNothing(const Waiting& waiting) const { return !tenants_.contains(waiting.tenant); }
  /// Returns whether a whole quota has been accepted since a short load began to wait.
  bool IsOverdue(const Waiting& waiting) const;
  /// Returns whether a load of `tenant` must wait behind this one.
  bool IsBehind(const Tenant& tenant, const Waiting& waiting) const;
  void AddHeld(const Tenant& tenant, Load load);

  BufferQuotaOptions options_;
  Load used_;
  // Everything that was accepted since the beginning.
  Load accepted_;
  std::vector<Stream> streams_;
  absl::flat_hash_map<Tenant, Load> tenants_;  // the tenants that hold anything
  std::list<Waiting> waiting_;                 ///< in the order of Wait
  Ticket next_ticket_ = 1;
};

}  // namespace weir::kinesis
