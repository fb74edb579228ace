// How long the item of a bucket must exist, so that no used tokens are forgotten when it expires.
// Mechanism: docs/design/acquire.md, "When an item may be deleted".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/zae_table/bucket/limit_updates.h"

namespace weir::dynamo {

/// Returns the time, in seconds since 1970, at which every limit has been full for `fills` times
/// the time that fills it, if `updates` are written at `now`. The result is not before the limits
/// in `gone` would have been full.
std::int64_t FullSince(UnixMillis now, const std::vector<LimitUpdate>& updates, double fills,
                       const std::optional<EvictedLimits>& gone);
/// Returns the ttl, in seconds since 1970, of an item that is written at `now`.
std::int64_t TtlAt(UnixMillis now, const std::vector<LimitUpdate>& updates,
                   const std::optional<EvictedLimits>& gone);

/// The ttl that a write requires, or writes.
struct Lifetime {
  std::int64_t ttl_seconds = 0;  ///< seconds since 1970: the least stored ttl, or the new ttl
  bool moves = false;            ///< the stored ttl is too early: the write sets a new one
};
/// Returns the ttl for a write of the form "add". Nothing if the item has no ttl.
std::optional<Lifetime> LifetimeOfAdd(const BucketImage& image,
                                      const std::vector<LimitUpdate>& updates, UnixMillis now);

/// Returns the least balance, in millitokens, that the limit must have at `now` to be full at
/// `ttl_seconds`. At least -kMaxDebt.
std::int64_t LeastFullBy(std::int64_t ttl_seconds, const LimitUpdate& update, UnixMillis now);

}  // namespace weir::dynamo
