// Tokens of accounts: one bucket for each resource and account, with the exact semantics of
// rate-limiter-py's "limit per window".
#pragma once

#include <cstdint>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"
#include "weir/store/reservation/account_limits.h"

namespace weir {

struct TokenResult {
  bool taken = false;
  std::int64_t available = 0;  ///< whole tokens, after a take or at a refusal; may be negative
  /// If refused, the smallest wait after which the take succeeds.
  milliseconds retry_after{0};
};

/// Threads, lifetimes and errors are as for BucketStore.
class WEIR_API TokenStore {
 public:
  virtual ~TokenStore() = default;

  /// Takes `count` tokens at `now`, or none, from a bucket of capacity `limit.limit`, into which
  /// `limit.limit` tokens come back in each `limit.window`. A bucket that does not exist is full.
  /// If the limit differs from the stored one, used tokens stay used. Fails with kInvalidArgument,
  /// without a change, for a count below 1 or above the limit, a limit without a window, or a
  /// blocked account. After kDeadlineExceeded or kUnavailable, the tokens may have been taken, at
  /// most once.
  virtual void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count,
                    UnixMillis now, Deadline deadline, Done<TokenResult> done) = 0;
};

}  // namespace weir
