// Principle 4, checked on a log: no interval admits more than capacity + rate * time. Proof and
// method: docs/design/replay.md. Shares nothing with the arithmetic it checks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "apps/weir/replay_log.h"

namespace weir::app {

/// `amount` millitokens come back in each `period` milliseconds, up to `capacity`.
struct BoundLimit {
  std::int64_t capacity = 0;
  std::int64_t amount = 0;
  std::int64_t period = 1;
};

/// (entity, resource, limit)
using BoundKey = std::tuple<std::string, std::string, std::string>;
using BoundLimits = std::map<BoundKey, BoundLimit>;

/// An interval with too much in it, both ends included.
struct BoundBreach {
  BoundKey key;
  UnixMillis from;
  UnixMillis to;
  std::int64_t charged = 0;  ///< takes and adjusts in it, in millitokens
  std::int64_t allowed = 0;  ///< rounded down
};

/// Looks, for each limit, at every interval that begins with an operation and ends with an admitted
/// take, in time linear in the log, exactly. The first breach in the order of the log; a line whose
/// limit is not in `limits` is one, with nothing allowed. REQUIRES: lines in order of time.
std::optional<BoundBreach> FindBreach(std::span<const LogLine> lines, const BoundLimits& limits);

/// One line for people.
std::string TextOf(const BoundBreach& breach);

}  // namespace weir::app
