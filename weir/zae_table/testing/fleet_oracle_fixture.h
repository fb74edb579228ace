// Compares the table of a simulated fleet with the results that its callers got.
//
// For each limit of each bucket, the consumption (takes less returns) is read from the table's own
// stream. Each call of the ledger contributes an interval to it: an admitted decision its amounts,
// once or, if the protocol's bound allows it, a few times; a refused one nothing; one that failed
// anything from nothing to the bound; an adjust its deltas once, however often it was repeated, or,
// if no repetition succeeded, once or not at all. The stored sum must lie within the sum of the
// intervals. If it is below, a caller holds tokens that were never charged, or tokens were given
// back that no caller had; if it is above, a decision was charged too often.
//
// On buckets that many calls share, the intervals of doubtful calls hide other errors. So a
// workload has limits that only one decision takes from (probes): there the number of charges is
// exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/zae_table/testing/fleet_ledger_fixture.h"

namespace weir::dynamo {

/// The promises of the protocol under the conditions of a run.
struct LedgerTerms {
  /// Maximum number of charges of a decision that may have been charged again: it says so, or it
  /// failed. The protocol repeats a write whose response was lost, 50 times at most.
  int charges = 51;
  /// Maximum number of charges of an admitted decision that does not say that it may have been
  /// charged again. More than 1 only on a network that delivers a request twice, or if a
  /// compensation can fail.
  int plain_charges = 1;
  /// Maximum number of charges of a refused decision that does not say so. More than 0 only under
  /// the conditions of `plain_charges`.
  int refused_charges = 0;
  /// Items or limits leave during the run: returns to them are dropped, and a repetition of an
  /// adjust may count again.
  bool drops_returns = false;
  /// A call has its result this long after its deadline at the latest.
  nanoseconds late{0};
};

/// The findings of a run, whether they were allowed or not.
struct LedgerFindings {
  std::vector<std::string> broken;
  std::int64_t charges = 0;          ///< the most of one decision, on a probe
  std::int64_t plain_charges = 0;    ///< the same, of admitted decisions that do not say so
  std::int64_t refused_charges = 0;  ///< the same, of refused decisions that do not say so
  nanoseconds late{INT64_MIN};       ///< the latest result, after its deadline
};

/// To be called after the run, when nothing is scheduled any more.
LedgerFindings CompareWithTable(const FleetLedger& ledger, const Fleet& fleet,
                                const LedgerTerms& terms);

}  // namespace weir::dynamo
