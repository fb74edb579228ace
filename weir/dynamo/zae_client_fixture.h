// A model of a process with zae-limiter 0.17.0's client on the table of a simulated fleet.
//
// Source: zae-limiter 0.17.0, its acquire, leases, limits API. A decision is tried on stored
// balances first (all buckets at once), then by a pass that reads and refills; a charge is given
// back where another bucket refuses. A write without an answer is sent again by botocore, and may
// count again. Left out: the cache of refusals, which saves requests; records of entities, and so
// the check of a new bucket's owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/dynamo/zae_sender_fixture.h"

namespace weir::dynamo {

struct ZaeTally {
  int admitted = 0;
  int refused = 0;
  int failed = 0;       ///< unavailable: no answer
  int slow = 0;         ///< passes that refilled
  int lost_passes = 0;  ///< to another one
  int seeds = 0;        ///< limits that an item lacked
  int bumps = 0;        ///< sent
  int unproven = 0;     ///< credits that were given over a ceiling that had moved: vu = 0
  int compensated = 0;  ///< charges given back because another bucket refused
};

/// A charge that was taken: on which shard, and the item as it left it.
struct ZaeHeld {
  Charge charge;
  std::optional<Item> item;
};
/// Empty: refused, or failed.
using ZaeDone = std::move_only_function<void(std::vector<ZaeHeld>)>;

/// Every write is noted in the ledger. The fleet and the ledger must outlive it. Not thread-safe.
class ZaeClient {
 public:
  ZaeClient(Fleet& fleet, FleetLedger& ledger, std::uint64_t seed);

  void Acquire(std::span<const Charge> charges, ZaeDone done);
  /// Debits and credits on the shard that paid.
  void Adjust(const ZaeHeld& held, std::vector<std::int64_t> deltas);
  /// The limits of an entity: every shard gets the parameters, `removed` ones leave.
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
  void Speculated(const AcquiringPtr& acquiring, std::size_t i, const ZaeAnswer& answer);
  void Speculate(const AcquiringPtr& acquiring, std::size_t i);
  void AllSpeculated(const AcquiringPtr& acquiring);
  void Refill(const AcquiringPtr& acquiring, std::vector<std::optional<Item>> items);
  void Retry(const AcquiringPtr& acquiring);
  void Settle(const AcquiringPtr& acquiring, const ZaeAnswer& answer);
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
