// What a replay did to every limit it touched, in order.
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
  kImpossible,  ///< of a take: over a capacity
  kDone,        ///< of an adjust
};

/// One limit of one charged bucket in one operation. Millitokens.
struct LogLine {
  UnixMillis at;
  std::uint64_t seq = 0;  ///< the row of the trace, from 1
  std::string entity;
  std::string resource;
  LogOp op = LogOp::kTake;
  LogOutcome outcome = LogOutcome::kAdmitted;
  std::string limit;
  std::int64_t amount = 0;   ///< asked, or added by the adjust (negative: given back)
  std::int64_t balance = 0;  ///< after the operation, exact at `at`, rounded down
};

/// CSV with a header: t_ms,seq,entity,resource,op,outcome,limit,amount,balance.
/// Amounts and balances in tokens with exactly three decimals. Names need no
/// quotes: identifiers have no commas.
std::string FormatLog(std::span<const LogLine> lines);

}  // namespace weir::app
