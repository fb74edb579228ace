// Processes that claim, bind, renew, release and forget slots of one table, and their results. If
// the scenario has jobs, also these, and the daemons that release their slots.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/event_daemon.h"
#include "tests/simulation/scenario.h"
#include "weir/base/rng.h"
#include "weir/rate_limiter_py/slots/slot_store.h"
#include "weir/rate_limiter_py/tables.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_network.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/zae_table/testing/sim_process_fixture.h"

namespace weir::simulation {

/// The longest lifetime of a slot; each store adds its rounding.
inline constexpr milliseconds kLongestTtl{20'000};
inline constexpr std::int64_t kMaxSlots = 6;  ///< the highest limit of any claim

/// A refused claim, with the times of the request and of its result.
struct SlotRefusal {
  AccountKey key;
  std::int64_t limit = 0;
  UnixMillis asked;
  UnixMillis completed;
};

/// The operations of the processes, for the oracle.
struct SlotHistory {
  std::map<std::string, std::int64_t> limits;  ///< the limits of each claim, by its id
  std::set<std::string> released;              ///< ids that a process tried to release
  std::set<std::string> ended;                 ///< resource ids that a process reported as ended
  std::vector<SlotRefusal> refusals;
  int asked = 0;
  int completed = 0;
  int admitted = 0;
  int crashes = 0;
};

class SlotEvents;

class SlotFleet {
 public:
  SlotFleet(const Scenario& scenario, std::uint64_t seed, EventBug bug = EventBug::kNone);
  ~SlotFleet();

  /// Runs the workload to its end. Returns false if a task was still scheduled then.
  bool Run();
  /// Returns the problems that a new process finds after every slot has expired, without network
  /// faults.
  std::vector<std::string> Settle();

  const SlotHistory& history() const { return history_; }
  /// Returns null if the scenario has no jobs.
  const SlotEvents* events() const { return events_.get(); }
  const sim::DynamoTable& table() const;
  sim::NetworkCounts CountFaults() const;
  const sim::DynamoCounts& table_counts() const { return server_.counts(); }

 private:
  struct Process;
  struct Held;

  Process& Join(milliseconds skew);
  // Makes one random operation and schedules the next.
  void Act(Process& process);
  void ActOnce(Process& process);
  void Claim(Process& process);
  void Send(Process& process, const SlotClaim& claim, int tries);
  void Claimed(Process& process, const SlotClaim& claim, const Result<ClaimResult>& result,
               UnixMillis asked);
  void Bind(Process& process);
  void Renew(Process& process);
  void Release(Process& process, const SlotRef& slot);
  void End(Process& process);
  Deadline Patience() const;
  AccountKey AnyKey();
  std::int64_t LimitNow();
  UnixMillis now() const { return scheduler_.clock().WallNow(); }
  template <class T>
  // Counts a call, and its result when it completes.
  Done<T> CountingResult();

  Rng rng_;
  const Scenario scenario_;
  sim::SimScheduler scheduler_;
  sim::SimDynamo server_;
  const rate_limiter_py::TableLayouts layouts_;
  std::vector<std::unique_ptr<Process>> processes_;
  Instant end_;
  SlotHistory history_;
  std::unique_ptr<SlotEvents> events_;
};

}  // namespace weir::simulation
