// Records the log of a replay and its sums.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/weir/replay/replay.h"
#include "weir/model/tokens.h"
#include "weir/store/bucket/charge.h"

namespace weir::app {

/// The balance of one limit of one bucket, rounded down to a millitoken.
struct LimitBalance {
  BucketKey key;
  std::string limit;
  std::int64_t tokens = 0;
};

/// The time of an event, and its row of the trace.
struct Moment {
  UnixMillis at;
  std::uint64_t seq = 0;
};

/// Not thread-safe. Tenants are numbered from 0 in the order of AddTenant.
class ReplayRecorder {
 public:
  /// `trace` must outlive it.
  explicit ReplayRecorder(const ReplayTrace& trace) : trace_(trace) {
    report_.limit_names = trace.limits;
  }
  void AddTenant(const ReplayTrace::Tenant& tenant, std::vector<TargetPtr> targets);

  /// Records a decision.
  void RecordDecision(std::size_t tenant, Moment moment, const Decision& decision);
  /// Records a request over a capacity. `balances` has every limit that it would have charged.
  void RecordImpossible(std::size_t tenant, Moment moment, const Amounts& amounts,
                        const std::vector<LimitBalance>& balances);
  /// Records that `milli` millitokens were added or returned. `balances` are those afterwards.
  void RecordAdjust(std::size_t tenant, Moment moment, std::int64_t milli,
                    const std::vector<LimitBalance>& balances);

  /// Returns whether an amount exceeds the capacity of one of the tenant's limits.
  bool IsImpossible(std::size_t tenant, const Amounts& amounts) const;
  const std::vector<TargetPtr>& targets(std::size_t tenant) const { return targets_[tenant]; }
  const std::string& entity(std::size_t tenant) const { return report_.tenants[tenant].entity; }
  /// Returns the report. Call it once.
  ReplayReport Close(HistogramSnapshot latency) &&;

 private:
  // Appends a line to the log and adds it to the sums.
  void Write(std::size_t tenant, LogLine line);
  // Counts the limits that caused a refusal.
  void CountShort(TenantTally& tally, const Decision& decision);

  const ReplayTrace& trace_;
  ReplayReport report_;
  std::vector<std::vector<TargetPtr>> targets_;
};

}  // namespace weir::app
