// How much a producer may hold: records without a result, and the bytes they occupy.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "weir/kinesis/shard_ranges.h"

namespace weir::kinesis {

/// What a record occupies besides its data and keys: itself, its callback, its result.
inline constexpr std::size_t kRecordOverhead = 768;

struct BufferQuotaOptions {
  std::size_t max_records = 100'000;
  std::size_t max_bytes = std::size_t{64} << 20;
};

/// What records occupy.
struct Load {
  std::size_t records = 0;
  std::size_t bytes = 0;
};

/// Bounds what the records of a producer occupy, in all and for each tenant: a shard of a stream,
/// or the stream if the shard is not known. A stream may hold as much as it leaves free, and a
/// shard as much as it leaves free of its stream's part, so a tenant that is stuck leaves room for
/// the others (dynamic thresholds; Choudhury and Hahne, "Dynamic queue length thresholds for
/// shared-memory packet switches", 1998). The only stream has no such bound, nor has the only shard
/// of a stream. So one busy shard among others of the only stream gets half of all, one busy shard
/// among others of several streams a third, and one busy stream among others half. The shards of a
/// stream always get an eighth of what is free, in equal parts: a stream that is at its bound
/// because of one shard does not exclude its other shards. A load larger than the quota is accepted
/// if nothing is held.
///
/// Callers that find no room may wait, and are served in order within a tenant. A load does not
/// wait for a load of another tenant, with one exception, without which a large load could wait for
/// ever: if a tenant that holds nothing does not fit, later loads of its stream wait for it. After
/// as much was accepted meanwhile as the quota holds, it is accepted if anything is free, so the
/// quota may be exceeded by one load. Not thread-safe.
class BufferQuota {
 public:
  struct Tenant {
    std::size_t stream = 0;        ///< as AddStream numbers them
    std::optional<ShardId> shard;  ///< nothing: not known

    friend bool operator==(const Tenant&, const Tenant&) = default;
    template <class H>
    friend H AbslHashValue(H state, const Tenant& tenant) {
      const std::uint64_t number = tenant.shard ? tenant.shard->number : 0;
      return H::combine(std::move(state), tenant.stream, tenant.shard.has_value(), number);
    }
  };
  /// Identifies a load that waits. 0: none.
  using Ticket = std::uint64_t;

  explicit BufferQuota(const BufferQuotaOptions& options) : options_(options) {}

  /// A stream whose shards are not known.
  std::size_t AddStream();
  /// The stream has this number of shards from now on. Tenants of the time before keep what they
  /// hold.
  void SetShards(std::size_t stream, std::size_t shards) { streams_[stream].shards = shards; }
  /// True: `load` is taken.
  bool Take(const Tenant& tenant, Load load);
  /// As Take as soon as there is room, which Serve reports.
  Ticket Wait(const Tenant& tenant, Load load);
  /// These tickets wait as other tenants from now on. Serve follows.
  void MoveWaiting(const absl::flat_hash_map<Ticket, Tenant>& tenants);
  /// False: this ticket does not wait any more. Tickets that waited behind it and fit now are
  /// taken, and appended to `served`.
  bool Leave(Ticket ticket, std::vector<Ticket>& served);
  /// No ticket waits any more, and none is served.
  void LeaveAll() { waiting_.clear(); }
  /// REQUIRES: `tenant` has taken it. Serve follows.
  void GiveBack(const Tenant& tenant, Load load);
  /// Takes waiting loads that fit now; their tickets are appended to `served`.
  void Serve(std::vector<Ticket>& served);

  const Load& used() const { return used_; }
  Load used(const Tenant& tenant) const;
  /// How many tenants hold something: the others are not stored.
  std::size_t tenants() const { return tenants_.size(); }
  bool anybody_waits() const { return !waiting_.empty(); }

 private:
  struct Stream {
    Load used;
    std::size_t shards = 1;
  };
  struct Waiting {
    Ticket ticket = 0;
    Tenant tenant;
    Load load;
    Load before;  // let in until it began to wait
  };

  bool Fits(const Tenant& tenant, Load load) const;
  bool Fits(const Waiting& waiting) const;
  bool IsShort(const Waiting& waiting) const { return !tenants_.contains(waiting.tenant); }
  bool IsOverdue(const Waiting& waiting) const;
  bool IsBehind(const Tenant& tenant, const Waiting& waiting) const;
  void Add(const Tenant& tenant, Load load);

  BufferQuotaOptions options_;
  Load used_;
  Load let_in_;  // ever
  std::vector<Stream> streams_;
  absl::flat_hash_map<Tenant, Load> tenants_;  // that hold something
  std::list<Waiting> waiting_;
  Ticket next_ticket_ = 1;
};

}  // namespace weir::kinesis
