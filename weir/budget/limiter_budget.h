// The shards' limits, shared by producers on several hosts through a limiter's buckets.
#pragma once

#include <string>
#include <vector>

#include "weir/bucket/quota.h"
#include "weir/kinesis/shared_budget.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// What a shard takes in a second; the same for all producers that share it.
struct ShardQuotas {
  Quota records = PerSecond(1000);
  Quota bytes = PerSecond(1024 * 1024);
  /// How long a producer may spend what it took ahead: fewer calls on the store, for so much of the
  /// rates taken off the burst. At most half a second.
  milliseconds allowance{250};
};

/// One bucket for each shard, on the store of the limiter: entity `kinesis:STREAM:SHARD` (an ARN
/// with ':' for '/'), resource `kinesis-shard`, limits `records` and `bytes`, made when they are
/// first used. All producers must name the stream in the same way. Most decisions are made from the
/// allowance of this process, without a store request; of a shard that is short, all by the store
/// (BudgetAsk::is_paced). If the store gives no answer within
/// kStoreTime, it grants: each producer's own limiter alone limits it then. Any other error of the
/// store is the answer.
///
/// Thread-safe. Limiter and clock must outlive it.
class LimiterBudget final : public kinesis::SharedBudget {
 public:
  static constexpr milliseconds kStoreTime{1'000};

  LimiterBudget(Limiter& limiter, const Clock& clock, const ShardQuotas& quotas);

  void Ask(const kinesis::StreamAddress& stream, const kinesis::BudgetAsk& ask,
           Done<kinesis::BudgetDecision> done) override;

 private:
  Limiter& limiter_;
  const Clock& clock_;
  const std::vector<Limit> limits_;
  const std::vector<Limit> paced_limits_;  // of the same buckets, asked of the store
  const std::int64_t most_records_;        // that one decision can be about
  const std::int64_t most_bytes_;
};

}  // namespace weir
