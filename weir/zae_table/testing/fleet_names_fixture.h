// A simulated fleet on buckets whose limits change all the time: names join and leave, processes
// learn of it late, and there are overrides, looks, and adjusts of limits that left.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weir/model/limit.h"
#include "weir/zae_table/bucket/bucket_plan.h"
#include "weir/zae_table/testing/fleet_ledger_fixture.h"

namespace weir::dynamo {

/// The parameters of a run.
struct NamesTerms {
  std::size_t names = 10;  ///< more than kMaxMeters: some are removed before they are full
  bool variants = true;    ///< each name has three sets of parameters; false: one
  int buckets = 2;
  /// A process learns of a change up to this much later; the last process up to five times as late.
  milliseconds stalest{600};
};

/// Returns the greatest capacity and the greatest rate that each name has in a run.
std::map<std::string, Quota> GreatestQuotas(const NamesTerms& terms);

struct NamesTally {
  int asked = 0;
  int completed = 0;
  int refused = 0;
  int failed = 0;
  std::string failure;  ///< the message of the latest failure
  int no_room = 0;      ///< overrides that were refused because all limits were in debt
  int overrides = 0;    ///< admitted
  int changes = 0;      ///< how often the configured limits change
  int stale = 0;        ///< requests by limits that were configured before
  int departed = 0;     ///< adjusts of a limit that the configuration no longer names
  /// The admitted amounts, by (bucket's entity, limit).
  std::map<std::pair<std::string, std::string>, std::int64_t> taken;
};

NamesTally& operator+=(NamesTally& sum, const NamesTally& other);

/// Sends requests from every process that is in the fleet now, until `end`. Fleet and ledger must
/// outlive it.
class FleetNames {
 public:
  FleetNames(Fleet& fleet, FleetLedger& ledger, const NamesTerms& terms, std::uint64_t seed,
             Instant end);

  const NamesTally& tally() const { return tally_; }

 private:
  void Configure();
  void Refresh(std::size_t process);
  void Ask(std::size_t process);
  std::vector<Limit> DrawSet(std::size_t most);
  Limit DrawLimit(std::size_t name);
  TargetPtr DrawTarget(std::size_t process);
  Charge DrawCharge(const TargetPtr& target);
  void OnResult(std::size_t process, const Charge& charge, const Result<Decision>& decision);
  void AdjustLater(std::size_t process, Charge charge);

  Fleet& fleet_;
  FleetLedger& ledger_;
  NamesTerms terms_;
  Rng rng_;
  Instant end_;
  std::vector<Limit> configured_;           // now
  std::vector<std::vector<Limit>> cached_;  // indexed by process
  NamesTally tally_;
};

/// Returns the sums of the takes that were written, without adjusts, by (bucket's entity, limit).
std::map<std::pair<std::string, std::string>, std::int64_t> TakenInTable(const Fleet& fleet);

}  // namespace weir::dynamo
