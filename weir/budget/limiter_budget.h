// The shards' limits, shared by producers on several hosts through a limiter's buckets.
#pragma once

#include <string>
#include <vector>

#include "weir/base/api.h"
#include "weir/bucket/quota.h"
#include "weir/kinesis/pipeline/shared_budget.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// The limits of a shard. They must be the same for all producers that share the shard.
struct WEIR_API ShardQuotas {
  Quota records = PerSecond(1000);
  Quota bytes = PerSecond(1024 * 1024);
  /// The time for which a producer takes tokens in advance, to spend them without store requests.
  /// In return, the burst is smaller by the tokens that the rate refills in this time. If less than
  /// half of the burst would remain (with these quotas: beyond half a second), no tokens are taken
  /// in advance.
  milliseconds allowance{250};
};

/// Uses one bucket for each shard, in the store of the limiter: entity `kinesis:STREAM:SHARD` (with
/// ':' in place of '/' in an ARN), resource `kinesis-shard`, limits `records` and `bytes`. A bucket
/// is created at its first use. All producers must name the stream in the same way. Most decisions
/// are made from the allowance of this process, without a store request; for a shard that is short
/// of tokens, the store makes all decisions (BudgetRequest::is_paced).
///
/// If the store is unavailable or does not respond within kStoreTime, the request is granted: then
/// only the producer's own limiter limits it. Any other error of the store is returned.
///
/// Thread-safe. Limiter and clock must outlive it.
class WEIR_API LimiterBudget final : public kinesis::SharedBudget {
 public:
  static constexpr milliseconds kStoreTime{1'000};

  LimiterBudget(Limiter& limiter, const Clock& clock, const ShardQuotas& quotas);

  void RequestBudget(const kinesis::StreamAddress& stream, const kinesis::BudgetRequest& ask,
                     Done<kinesis::BudgetDecision> done) override;

 private:
  Limiter& limiter_;
  const Clock& clock_;
  const std::vector<Limit> limits_;
  const std::vector<Limit> paced_limits_;  // the same buckets, without an allowance
  const std::int64_t max_records_;         // the largest amount that one decision can cover
  const std::int64_t max_bytes_;
};

}  // namespace weir
