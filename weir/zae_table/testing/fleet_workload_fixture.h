// The requests of the processes of a simulated fleet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weir/model/limit.h"
#include "weir/zae_table/testing/fleet_ledger_fixture.h"

namespace weir::dynamo {

/// Returns the limits of every bucket of the workload, except probes.
const std::vector<Limit>& FleetLimits();
/// The number of child entities; the other buckets are those of the parent "team" and of probes.
/// All are of resource "llm".
inline constexpr std::uint64_t kFleetChildren = 3;
std::string FleetChild(std::uint64_t index);
/// Returns the quotas of all limits of the workload.
std::map<std::string, Quota> FleetQuotas();

/// Fractions of the calls of a workload.
struct WorkloadOdds {
  bool only_probes = false;  ///< each call takes only from a probe
  /// Takes from a limit that no other decision takes from, and from the parent.
  double probe = 0.15;
  double hasty = 0;  ///< has 40 to 400 ms instead of 3 s
  /// After half of the run no process sends requests for this duration.
  nanoseconds lull{0};
  double repeated = 0.2;  ///< the part of the adjusts that is sent again, with the same token
};

/// The number of calls by their results.
struct FleetTally {
  int asked = 0;
  int completed = 0;
  int admitted = 0;
  int refused = 0;
  int failed = 0;
  std::string failure;  ///< the message of the latest failure
  int doubtful = 0;     ///< admitted, and possibly charged twice
  int repeated = 0;     ///< adjusts
  int probed = 0;       ///< probes that were admitted
};

/// Sends random requests from every process until `run` is over, each on a child and its parent;
/// later corrects half of the admitted ones. A process that rests lets its images grow old, and
/// then sends a burst that would empty the buckets. The fleet must outlive it.
class FleetWorkload {
 public:
  FleetWorkload(Fleet& fleet, std::uint64_t seed, nanoseconds run, WorkloadOdds odds = {});

  /// Starts the requests of a process that joined the fleet during the run.
  void Start(FleetProcess& process) { Ask(process); }
  /// The time at which processes stop sending requests.
  Instant end() const { return end_; }

  /// Returns false if something was still scheduled at the end.
  bool Run() { return fleet_.scheduler().RunAll(); }
  const FleetTally& tally() const { return tally_; }
  FleetLedger& ledger() { return ledger_; }
  const FleetLedger& ledger() const { return ledger_; }

 private:
  /// A bucket whose limits are used one after the other, each by one decision.
  struct Probes {
    TargetPtr target;
    std::size_t used = 0;
  };

  void Ask(FleetProcess& process);
  void AskOnce(FleetProcess& process);
  void Take(FleetProcess& process, const std::vector<Charge>& charges,
            const Result<Decision>& decision);
  void CorrectLater(FleetProcess& process, const std::vector<Charge>& charges);
  void Correct(FleetProcess& process, const std::vector<Charge>& charges);
  Charge DrawChild(const FleetProcess& process);
  Charge NextProbe(const FleetProcess& process);
  std::vector<std::int64_t> Amounts();
  Deadline DrawDeadline();
  Deadline Patient() const;

  Fleet& fleet_;
  Rng rng_;
  WorkloadOdds odds_;
  std::int64_t longest_wait_;  ///< ms
  TargetPtr parent_;
  std::vector<TargetPtr> children_;
  Instant lull_;  ///< the time at which the lull begins
  Instant end_;
  FleetTally tally_;
  FleetLedger ledger_;
  std::map<const FleetProcess*, Probes> probes_;
  int probe_buckets_ = 0;
};

}  // namespace weir::dynamo
