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

/// Bounds the space that the records of a producer occupy, in all and for each tenant. A tenant is
/// a shard of a stream, or the stream if the shard is not known. A stream may hold at most as much
/// space as remains free, and a shard at most as much as its stream may still take. So a tenant
/// that is stuck leaves space for the others (dynamic thresholds; Choudhury and Hahne, "Dynamic
/// queue length thresholds for shared-memory packet switches", 1998). A single stream has no such
/// bound, nor has the single shard of a stream. So one busy shard among others gets half of the
/// space if there is one stream, and a third if there are several; one busy stream among others
/// gets half. The shards of a stream may always take an eighth of the free space, in equal parts: a
/// stream that is at its bound because of one shard does not exclude its other shards. A load
/// larger than the quota is accepted if nothing is held.
///
/// Callers that find no space may wait, and are served in order within a tenant. A load does not
/// wait for a load of another tenant, with one exception: while a load of a tenant that holds
/// nothing waits, later loads of the same stream wait behind it. Without this, a large load could
/// wait for ever. Once as much as the whole quota has been accepted since such a load began to
/// wait, the load is overdue: it is accepted as soon as at least one record and one byte are free,
/// so the quota may be exceeded by one load. Not thread-safe.
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
  /// Sets the number of shards of a stream. Existing tenants keep their loads.
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
    Load before;  // the value of accepted_ when it began to wait
  };

  /// Returns whether the load is within the bounds of quota, stream and tenant.
  bool Fits(const Tenant& tenant, Load load) const;
  /// Returns whether a waiting load may be taken: it fits, or it is overdue and at least one record
  /// and one byte are free.
  bool Fits(const Waiting& waiting) const;
  /// Returns whether the tenant of a waiting load holds nothing, so that later loads of the stream
  /// wait behind this load.
  bool HoldsNothing(const Waiting& waiting) const { return !tenants_.contains(waiting.tenant); }
  /// Returns whether the tenant of a waiting load holds nothing, and a whole quota has been
  /// accepted since the load began to wait.
  bool IsOverdue(const Waiting& waiting) const;
  /// Returns whether a load of `tenant` must wait behind `waiting`.
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
