// Clients of zae-limiter among the processes of a simulated fleet, on the same buckets.
#pragma once

#include <memory>
#include <vector>

#include "weir/zae_table/testing/fleet_workload_fixture.h"
#include "weir/zae_table/testing/zae_aggregator_fixture.h"
#include "weir/zae_table/testing/zae_client_fixture.h"

namespace weir::dynamo {

struct PeerOdds {
  int clients = 0;
  nanoseconds sync{0};        ///< between two changes of the limits; 0: no changes
  nanoseconds aggregator{0};  ///< between two batches of the stream; 0: no aggregator
  sim::NetworkFaults network{};
};

struct PeerCounts {
  ZaeTally calls;
  ZaeAggregatorTally aggregator;
  int syncs = 0;
  int repeated = 0;  ///< writes
};
PeerCounts& operator+=(PeerCounts& sum, const PeerCounts& other);

/// Sends random requests of the clients until `end`, on the children and the parent of
/// FleetWorkload, and later corrects half of them. Every `sync`, the limit kPeerLimit joins or
/// leaves the limits of the children, by a parameter sync; some clients learn of it late. Fleet and
/// ledger must outlive it.
class FleetPeers {
 public:
  FleetPeers(Fleet& fleet, FleetLedger& ledger, std::uint64_t seed, const PeerOdds& odds,
             Instant end);
  PeerCounts counts() const;

 private:
  void Ask(ZaeClient& client);
  void Sync();
  std::vector<Charge> DrawCharges();
  void CorrectLater(ZaeClient& client, std::vector<ZaeHeld> held);
  void Correct(ZaeClient& client, const ZaeHeld& held);

  Fleet& fleet_;
  Rng rng_;
  PeerOdds odds_;
  Instant end_;
  std::vector<std::unique_ptr<ZaeClient>> clients_;
  std::unique_ptr<ZaeAggregator> aggregator_;
  bool has_peer_limit_ = false;
  int syncs_ = 0;
};

/// A limit that only these clients use.
inline constexpr std::string_view kPeerLimit = "peer";

/// Returns the bounds of FleetQuotas for buckets that clients of zae-limiter use too. Their writes
/// on stored balances take the tokens of an idle bucket before its first refill, so one capacity is
/// available twice.
std::map<std::string, Quota> QuotasWithPeers();

}  // namespace weir::dynamo
