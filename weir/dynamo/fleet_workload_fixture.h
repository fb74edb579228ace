// What the processes of a simulated fleet ask for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weir/dynamo/fleet_fixture.h"
#include "weir/model/limit.h"

namespace weir::dynamo {

/// Of every bucket of the workload.
const std::vector<Limit>& FleetLimits();
std::map<std::string, Quota> FleetQuotas();

/// How calls ended.
struct FleetTally {
  int asked = 0;
  int answered = 0;
  int admitted = 0;
  int refused = 0;
  int failed = 0;
  std::string failure;  ///< the last one's message
  int doubtful = 0;     ///< admitted, and perhaps charged twice
  /// What was admitted and what was adjusted, in sum, by limit, in the children's buckets.
  std::map<std::string, std::int64_t> told;
};

/// Random requests of every process until `run` is over, each on a child and its parent; half of
/// what is admitted is corrected later. A process that rests lets its images grow old, and comes
/// back with a burst that would empty the buckets. The fleet must outlive it.
class FleetWorkload {
 public:
  FleetWorkload(Fleet& fleet, std::uint64_t seed, nanoseconds run);

  /// False if something was still scheduled at the end.
  bool Run() { return fleet_.scheduler().RunAll(); }
  const FleetTally& tally() const { return tally_; }

 private:
  void Ask(FleetProcess& process);
  void AskOnce(FleetProcess& process);
  void Take(FleetProcess& process, const std::vector<Charge>& charges,
            const Result<Decision>& decision);
  void CorrectLater(FleetProcess& process, const std::vector<Charge>& charges);
  void Correct(FleetProcess& process, const std::vector<Charge>& charges);
  void Note(const Charge& charge);
  std::vector<std::int64_t> Amounts();

  Fleet& fleet_;
  Rng rng_;
  std::int64_t longest_wait_;  ///< ms
  TargetPtr parent_;
  std::vector<TargetPtr> children_;
  Instant end_;
  FleetTally tally_;
};

/// The sum of all movements in the children's buckets, by limit: FleetTally::told, where nothing
/// was lost.
std::map<std::string, std::int64_t> ChildrenConsumed(const Fleet& fleet);

}  // namespace weir::dynamo
