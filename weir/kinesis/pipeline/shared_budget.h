// The interface of a budget that producers on several hosts share for each shard.
#pragma once

#include "weir/base/done.h"
#include "weir/kinesis/pipeline/budget_gate.h"
#include "weir/kinesis/wire/wire.h"

namespace weir::kinesis {

/// Thread-safe. Must outlive the producers that use it.
class SharedBudget {
 public:
  virtual ~SharedBudget() = default;
  /// Requests an amount of a shard's budget. `done` runs exactly once, on any thread, by
  /// `ask.until` or soon after it. An error is not a refusal: the store did not respond, and the
  /// producer continues with its own limiter alone.
  virtual void RequestBudget(const StreamAddress& stream, const BudgetRequest& ask,
                             Done<BudgetDecision> done) = 0;
};

}  // namespace weir::kinesis
