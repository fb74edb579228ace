// What one write on an account's bucket must say so that it is exact whatever others do meanwhile.
//
// As docs/design/acquire.md proves it for buckets of our own table, in whole tokens:
//
//   add      lastRefill stays: taking now and refilling later come to the same while no clamp is
//            pending. Any number of them at once.
//   refill   lastRefill moves to now, from the one that was seen.
//   full     the same, where refilling stops at the limit.
//   blind    of a bucket that was never seen: full if it is not there, or was left without debt for
//            a whole window.
//
// None asks for the very number of tokens that was seen, so that one who only takes, ours or a
// client of rate-limiter-py in its first step, is in nobody's way.
#pragma once

#include <optional>
#include <string>

#include "weir/dynamo/table.h"
#include "weir/rate_limiter_py/token_item.h"
#include "weir/store/token_store.h"

namespace weir::rate_limiter_py {

/// REQUIRES: what TokenStore::Take requires.
struct TokenRequest {
  AccountKey key;
  AccountLimit limit;
  std::int64_t count = 1;
  UnixMillis now;
  std::string take;  ///< 32 hex digits that no other request has
};

struct TokenPlan {
  TokenAnswer answer;  ///< once the write is applied
  /// May be applied once only. A refusal has one only where the limit differs from the one that the
  /// bucket stands under: from now on it refills under the new one.
  std::optional<dynamo::Write> write{};
};

/// Of a bucket that was seen so. A clock that is behind the bucket's time neither gives nor takes:
/// the request is dated by the later of both, and waits are told from the caller's.
TokenPlan PlanTake(const TokenImage& image, const TokenRequest& request);

/// Of a bucket of which nothing is known, or that is not there. Where the condition fails it brings
/// the image for PlanTake.
TokenPlan PlanBlind(const TokenRequest& request);

/// Whole tokens that are there at `now`, by an image.
std::int64_t AvailableAt(const TokenImage& image, const AccountLimit& limit, UnixMillis now);

}  // namespace weir::rate_limiter_py
