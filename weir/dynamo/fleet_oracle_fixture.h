// Whether the table of a simulated fleet agrees with what its callers were answered.
//
// For each limit of each bucket the table's own stream says how much was consumed (takes less
// returns). Each call of the ledger contributes an interval to that: an admitted decision its
// amounts, once or, if the protocol's bound says so, a few times; a refused one nothing; one that
// failed anything from nothing to the bound; an adjust its deltas once, however often it was
// repeated, or, if no repetition succeeded, once or not at all. The stored sum must lie within the
// sum of the intervals. Below it a caller holds tokens that were never charged, or tokens were
// given back that no caller had; above it a decision was charged too often.
//
// On buckets that many calls share, the intervals of doubtful calls hide others; so a workload has
// limits that one decision alone takes from (probes): there the number of charges is exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/dynamo/fleet_ledger_fixture.h"

namespace weir::dynamo {

/// What the protocol promises in the conditions of a run.
struct LedgerTerms {
  /// Most charges of a decision that may have been charged again: it says so, or failed. The
  /// protocol repeats a write whose answer was lost, 50 times at most.
  int charges = 51;
  /// The same of an admitted decision that says nothing. Over 1 only on a network that delivers a
  /// request twice, or if a compensation can fail.
  int plain_charges = 1;
  /// The same of a decision that is refused and says nothing. Over 0 as above.
  int refused_charges = 0;
  /// Items or limits leave during the run: returns to one that left are dropped, and a
  /// repetition of an adjust may count again.
  bool drops_returns = false;
  /// A call is answered at its deadline plus this duration at the latest.
  nanoseconds late{0};
};

/// What a run came to, whatever was allowed.
struct LedgerFindings {
  std::vector<std::string> broken;
  std::int64_t charges = 0;          ///< the most of one decision, on a probe
  std::int64_t plain_charges = 0;    ///< of one that was admitted and said nothing
  std::int64_t refused_charges = 0;  ///< of one that was refused and said nothing
  nanoseconds late{INT64_MIN};       ///< after its deadline, the latest answer
};

/// After the run, when nothing is scheduled any more.
LedgerFindings CompareWithTable(const FleetLedger& ledger, const Fleet& fleet,
                                const LedgerTerms& terms);

}  // namespace weir::dynamo
