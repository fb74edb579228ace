// Checks the limiter's guarantee on a log: no interval admits more than capacity + rate * time.
// Proof and method: docs/design/replay.md. It shares no code with the arithmetic that it checks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "apps/weir/replay/replay_log.h"

namespace weir::app {

/// Refills `amount` millitokens in each `period` milliseconds, up to `capacity`.
struct CheckedLimit {
  std::int64_t capacity = 0;
  std::int64_t amount = 0;
  std::int64_t period = 1;
};

/// (entity, resource, limit)
using LimitKey = std::tuple<std::string, std::string, std::string>;
using CheckedLimits = std::map<LimitKey, CheckedLimit>;

/// An interval in which a limit admitted too much. Both ends are included.
struct LimitViolation {
  LimitKey key;
  UnixMillis from;
  UnixMillis to;
  std::int64_t charged = 0;  ///< takes and adjusts in the interval, in millitokens
  std::int64_t allowed = 0;  ///< rounded down
};

/// Checks, for each limit, every interval that begins with an operation and ends with an admitted
/// take, exactly and in time linear in the log. Returns the first violation in the order of the
/// log. A line whose limit is not in `limits` is a violation with nothing allowed. REQUIRES: lines
/// are in order of time.
std::optional<LimitViolation> FindViolation(std::span<const LogLine> lines,
                                            const CheckedLimits& limits);

/// Returns a message of one line.
std::string TextOf(const LimitViolation& violation);

}  // namespace weir::app
