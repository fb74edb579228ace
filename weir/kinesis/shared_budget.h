// Who counts what producers on several hosts send to one shard.
#pragma once

#include <functional>

#include "weir/kinesis/budget_gate.h"
#include "weir/kinesis/wire.h"

namespace weir::kinesis {

/// Thread-safe.
class SharedBudget {
 public:
  virtual ~SharedBudget() = default;
  /// `done` runs exactly once, on any thread, soon after `ask.until` at the latest: true where it
  /// was granted, and spent, or where nobody could be asked.
  virtual void Ask(const StreamAddress& stream, const BudgetAsk& ask,
                   std::move_only_function<void(bool granted)> done) = 0;
};

}  // namespace weir::kinesis
