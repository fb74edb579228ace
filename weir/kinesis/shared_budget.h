// Who counts what producers on several hosts send to one shard.
#pragma once

#include "weir/base/done.h"
#include "weir/kinesis/budget_gate.h"
#include "weir/kinesis/wire.h"

namespace weir::kinesis {

/// Thread-safe.
class SharedBudget {
 public:
  virtual ~SharedBudget() = default;
  /// `done` runs exactly once, on any thread, soon after `ask.until` at the latest. An error is no
  /// refusal: the store did not answer, and the producer goes on with its own limiter alone.
  virtual void Ask(const StreamAddress& stream, const BudgetAsk& ask,
                   Done<BudgetDecision> done) = 0;
};

}  // namespace weir::kinesis
