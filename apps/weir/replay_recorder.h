// What a replay writes down: the log, and sums over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/weir/replay.h"
#include "weir/model/tokens.h"
#include "weir/store/charge.h"

namespace weir::app {

/// One limit of one bucket, rounded down to a millitoken.
struct LimitBalance {
  BucketKey key;
  std::string limit;
  std::int64_t tokens = 0;
};

/// When something happened, and for which row of the trace.
struct Moment {
  UnixMillis at;
  std::uint64_t seq = 0;
};

/// Not thread-safe. Tenants are numbered from 0 in the order they were added.
class ReplayRecorder {
 public:
  /// `trace` must outlive it.
  explicit ReplayRecorder(const ReplayTrace& trace) : trace_(trace) {
    report_.limit_names = trace.limits;
  }
  void AddTenant(const ReplayTrace::Tenant& tenant, std::vector<TargetPtr> targets);

  /// A decision that was answered.
  void Decided(std::size_t tenant, Moment moment, const Decision& decision);
  /// A request over a capacity; `balances` of every limit it would have
  /// charged.
  void Impossible(std::size_t tenant, Moment moment, const Amounts& amounts,
                  const std::vector<LimitBalance>& balances);
  /// `milli` tokens were added or given back; `balances` afterwards.
  void Adjusted(std::size_t tenant, Moment moment, std::int64_t milli,
                const std::vector<LimitBalance>& balances);

  /// True if some limit of the tenant can never give so much.
  bool IsImpossible(std::size_t tenant, const Amounts& amounts) const;
  const std::vector<TargetPtr>& targets(std::size_t tenant) const { return targets_[tenant]; }
  const std::string& entity(std::size_t tenant) const { return report_.tenants[tenant].entity; }
  /// Everything, once.
  ReplayReport Close(HistogramSnapshot latency) &&;

 private:
  void Write(std::size_t tenant, LogLine line);
  void CountShort(TenantTally& tally, const Decision& decision);

  const ReplayTrace& trace_;
  ReplayReport report_;
  std::vector<std::vector<TargetPtr>> targets_;
};

}  // namespace weir::app
