// A model of a process with zae-limiter 0.17.0's client on the table of a simulated fleet.
//
// Source: zae-limiter 0.17.0, its acquire, leases, limits API. A decision is tried on stored
// balances first, on all buckets at the same time; then by a pass that reads and refills. A charge
// is given back if another bucket refuses. Botocore sends a write without a response again, which
// may count twice. Not modelled: the cache of refusals, which saves requests; records of entities,
// and so the check of a new bucket's owner.
//
//   Speculate --> Speculated --> AllSpeculated --> Refill --> Settle --> Finish
//       ^             |               |              |          ^         ^
//       +-------------+               |              +-> Retry -+         |
//         another shard               +-----------------------------------+
//                                       no bucket needs a refill, or one refuses
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/zae_table/testing/zae_sender_fixture.h"

namespace weir::dynamo {

struct ZaeTally {
  int admitted = 0;
  int refused = 0;
  int failed = 0;       ///< no response
  int slow = 0;         ///< passes that refilled
  int lost_passes = 0;  ///< lost to another one
  int seeds = 0;        ///< limits that an item lacked
  int bumps = 0;        ///< sent
  int unproven = 0;     ///< returns above a ceiling that had moved, after which vu is 0
  int compensated = 0;  ///< charges that were given back because another bucket refused
};

/// A charge that was taken: its shard, and the item as the charge left it.
struct ZaeHeld {
  Charge charge;
  std::optional<Item> item;
};
/// Receives the charges; none if the request was refused or failed.
using ZaeDone = std::move_only_function<void(std::vector<ZaeHeld>)>;

/// Records every write in the ledger. The fleet and the ledger must outlive it. Not thread-safe.
class ZaeClient {
 public:
  ZaeClient(Fleet& fleet, FleetLedger& ledger, std::uint64_t seed);

  void Acquire(std::span<const Charge> charges, ZaeDone done);
  /// Debits or returns tokens on the shard that paid.
  void Adjust(const ZaeHeld& held, std::vector<std::int64_t> deltas);
  /// Changes the limits of an entity: every shard gets the parameters, and loses the `removed`
  /// limits.
  void SyncParameters(const TargetPtr& target, const std::vector<std::string>& removed);

  sim::SimTransport& network() { return sender_.network(); }
  const ZaeTally& tally() const { return tally_; }
  int repeated() const { return sender_.repeated(); }

 private:
  struct Acquiring;
  using AcquiringPtr = std::shared_ptr<Acquiring>;

  std::int64_t ShardsOf(const BucketKey& key) const;
  std::uint32_t DrawShard(const BucketKey& key);
  void Learn(const BucketKey& key, const std::optional<Item>& item);
  void Speculated(const AcquiringPtr& acquiring, std::size_t i, const ZaeResponse& response);
  void Speculate(const AcquiringPtr& acquiring, std::size_t i);
  void AllSpeculated(const AcquiringPtr& acquiring);
  void Refill(const AcquiringPtr& acquiring, std::vector<std::optional<Item>> items);
  void Retry(const AcquiringPtr& acquiring);
  void Settle(const AcquiringPtr& acquiring, const ZaeResponse& response);
  void Finish(const AcquiringPtr& acquiring);
  void Bump(const BucketKey& key, std::int64_t shards);
  void SendAdjust(const Charge& delta, const std::optional<Item>& seen);

  Fleet& fleet_;
  Rng rng_;
  ZaeSender sender_;
  std::map<std::pair<std::string, std::string>, std::int64_t> shards_;  // seen; they only grow
  ZaeTally tally_;
};

}  // namespace weir::dynamo
