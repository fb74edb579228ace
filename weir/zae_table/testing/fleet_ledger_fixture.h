// The calls of the callers in a simulated fleet, and the results that they got.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "weir/base/done.h"
#include "weir/zae_table/testing/fleet_fixture.h"

namespace weir::dynamo {

/// How often the amounts of a call were stored, as far as its caller knows.
struct TimesStored {
  int least = 0;
  int most = 0;
};

/// One call of one process. An acquire that is contended counts as refused.
struct LedgerCall {
  enum class End { kOpen, kAdmitted, kRefused, kFailed };

  const FleetProcess* process = nullptr;  ///< null: a client of zae-limiter
  std::vector<Charge> charges;
  std::optional<AdjustId> token;  ///< the token of an adjust; the same for each repetition
  Instant began;
  Deadline deadline;
  End end = End::kOpen;                 ///< an adjust that succeeded is admitted
  Instant completed{};                  ///< the time of the first result
  int completions = 0;                  ///< number of results
  bool is_doubtful = false;             ///< Decision::maybe_charged_twice
  std::vector<std::uint32_t> shards{};  ///< Decision::shards
  /// Set for a client of zae-limiter, which counts its attempts. The amounts are signed.
  std::optional<TimesStored> stored{};
};

/// Calls the stores of a fleet's processes, and records each call and its result. A process that is
/// dead reports no results. It must outlive the calls, and the fleet it. Not thread-safe.
class FleetLedger {
 public:
  explicit FleetLedger(const Clock& clock) : clock_(clock) {}
  FleetLedger(const FleetLedger&) = delete;
  FleetLedger& operator=(const FleetLedger&) = delete;

  /// At the time of the process's own clock.
  void Acquire(FleetProcess& process, std::vector<Charge> charges, Deadline deadline,
               Done<Decision> done);
  void Adjust(FleetProcess& process, std::vector<Charge> deltas, AdjustId token, Deadline deadline,
              Done<void> done);

  /// Records a write of a client of zae-limiter, with its repetitions. `charges` name the shards.
  void NotePeer(std::vector<Charge> charges, TimesStored stored);

  const std::deque<LedgerCall>& calls() const { return calls_; }
  std::size_t CountOpen(const FleetProcess& process) const;

 private:
  LedgerCall& Begin(LedgerCall call);
  /// Returns false if the process is dead: the call stays open.
  bool End(LedgerCall& call, LedgerCall::End end) const;

  const Clock& clock_;
  std::deque<LedgerCall> calls_;  // an element never moves
};

}  // namespace weir::dynamo
