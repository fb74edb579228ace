// The lease of a shard: which process reads it, and how far it was read.
//
// Several processes share a stream by a table with one lease for each shard. A lease is changed
// only by a write whose condition is the version that the writer has seen, so each change has one
// winner. Clocks are not compared: a process regards a lease as expired if the lease's term has
// passed since the process first saw the current version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamodb/streams/stream_wire.h"

namespace weir::dynamo {

/// The lease with this name belongs to no shard. It exists when all shards that were listed at the
/// beginning have leases: from then on, a shard without a lease is a new one.
inline constexpr char kInitializedLease[] = "*";

struct ShardLease {
  std::string shard;
  std::string owner;          ///< empty: no process reads the shard
  std::uint64_t epoch = 0;    ///< grows by one when a process takes the lease
  std::uint64_t version = 1;  ///< grows by one with each write
  milliseconds term{0};       ///< the owner stops if it cannot write the lease for this time
  std::string parent;         ///< the shard that must be read before this one; empty: none
  std::string wanted_by;      ///< a process that asks the owner to release the lease; empty: none
  ShardPosition position{};   ///< the records before it are completed

  friend bool operator==(const ShardLease&, const ShardLease&) = default;
};

/// A write of a lease, on the condition that the stored version is `expected`.
struct LeaseWrite {
  ShardLease lease;
  std::uint64_t expected = 0;  ///< 0: on the condition that there is no such lease
  bool remove = false;         ///< removes the lease
};

struct LeaseResult {
  bool applied = false;
  /// If not applied: the lease as it is stored; nothing if there is none.
  std::optional<ShardLease> current{};
};

/// A stored lease that cannot be read. Its shard and the child shards are not read.
struct DamagedLease {
  std::string shard;
  Error error;  ///< which field, and how to repair it
};

/// All leases of a stream.
struct StoredLeases {
  std::vector<ShardLease> leases{};
  std::vector<DamagedLease> damaged{};
};

/// The results of storage requests. After an error a write may have been applied.
using LeasesRead = Result<StoredLeases>;
using LeaseOutcome = Result<LeaseResult>;

}  // namespace weir::dynamo
