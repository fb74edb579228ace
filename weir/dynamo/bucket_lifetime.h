// How long a bucket's item must stay, so that no used tokens are forgotten with it.
// Mechanism: docs/design/acquire.md, "When an item may be deleted".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/dynamo/limit_updates.h"

namespace weir::dynamo {

/// Seconds since 1970 at which each limit is full again and has been for `fills` times as long as
/// it takes to fill it: `lines` as the write at `now` leaves them, and those that left early
/// (`gone`).
std::int64_t FullSince(UnixMillis now, const std::vector<LimitUpdate>& lines, double fills,
                       const std::optional<EarlyLeavers>& gone);
/// The ttl of an item that is written now.
std::int64_t TtlAt(UnixMillis now, const std::vector<LimitUpdate>& lines,
                   const std::optional<EarlyLeavers>& gone);

/// What an add relies on, or writes, as the item's ttl.
struct Lifetime {
  std::int64_t ttl_seconds = 0;
  bool moves = false;  ///< the ttl that was seen is too early
};
/// Nothing for an item without a ttl.
std::optional<Lifetime> LifetimeOfAdd(const BucketImage& image,
                                      const std::vector<LimitUpdate>& lines, UnixMillis now);

/// The least that a limit may have at `now`, after the write, to be full when the item may go; at
/// least -kMaxDebt.
std::int64_t LeastFullBy(std::int64_t ttl_seconds, const LimitUpdate& line, UnixMillis now);

}  // namespace weir::dynamo
