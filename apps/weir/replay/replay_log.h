// The log of a replay: each operation on each limit, in order.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "weir/base/time.h"

namespace weir::app {

enum class LogOp { kTake, kAdjust };

enum class LogOutcome {
  kAdmitted,    ///< of a take
  kRefused,     ///< of a take
  kImpossible,  ///< of a take: more than a capacity
  kDone,        ///< of an adjust
};

/// One limit of one charged bucket in one operation. Amounts are in millitokens.
struct LogLine {
  UnixMillis at;
  std::uint64_t seq = 0;  ///< the row of the trace, from 1
  std::string entity;
  std::string resource;
  LogOp op = LogOp::kTake;
  LogOutcome outcome = LogOutcome::kAdmitted;
  std::string limit;
  std::int64_t amount = 0;   ///< requested, or added by the adjust (negative: returned)
  std::int64_t balance = 0;  ///< after the operation, exact at `at`, rounded down
};

/// Returns CSV with a header: t_ms,seq,entity,resource,op,outcome,limit,amount,balance. Amounts and
/// balances are tokens with exactly three decimals. Names need no quotes: identifiers have no
/// commas.
std::string FormatLog(std::span<const LogLine> lines);

}  // namespace weir::app
