// The conditions and changes of one write on an account's bucket, so that it is exact under
// concurrent writes of others.
//
// The rules that docs/design/acquire.md proves for the buckets of our own table, in whole tokens:
//
//   add      lastRefill does not change: taking now and refilling later give the same result while
//            the refill does not reach the limit. Any number of such writes may be made at once.
//   refill   lastRefill changes from the value that was read to now.
//   full     the same, if the refill reaches the limit.
//   blind    for a bucket that was not read: it is full if it does not exist, or was without debt
//            for a whole window.
//
// No write requires the exact number of tokens that was read. So a write that only takes (one of
// ours, or the first request of a client of rate-limiter-py) does not conflict with another write.
#pragma once

#include <optional>
#include <string>

#include "weir/dynamodb/table.h"
#include "weir/rate_limiter_py/tokens/token_item.h"
#include "weir/store/reservation/token_store.h"

namespace weir::rate_limiter_py {

/// REQUIRES: the requirements of TokenStore::Take.
struct TokenRequest {
  AccountKey key;
  AccountLimit limit;
  std::int64_t count = 1;
  UnixMillis now;
  std::string take;  ///< 32 hex digits, unique to this request
};

struct TokenPlan {
  TokenResult result;  ///< the result of the take once the write is applied
  /// May be applied only once. A refusal has a write only if the limit differs from that of the
  /// bucket: from then on the bucket refills under the new limit.
  std::optional<dynamo::Write> write{};
};

/// Plans a take from a bucket with this image. If the clock is behind the bucket's time, tokens are
/// neither added nor removed: the request is planned for the bucket's time, and the wait is
/// relative to the clock.
TokenPlan PlanTake(const TokenImage& image, const TokenRequest& request);

/// Plans a take from a bucket that was not read, or does not exist. If the condition fails, the
/// response has the image for PlanTake.
TokenPlan PlanBlind(const TokenRequest& request);

/// Returns the whole tokens that a bucket with this image has available at `now`.
std::int64_t AvailableAt(const TokenImage& image, const AccountLimit& limit, UnixMillis now);

}  // namespace weir::rate_limiter_py
