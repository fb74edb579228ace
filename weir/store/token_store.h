// Fungible tokens of accounts: one bucket for each resource and account, with the semantics of
// rate-limiter-py's "limit per window", held exactly.
#pragma once

#include <cstdint>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"
#include "weir/store/account_limits.h"

namespace weir {

struct TokenAnswer {
  bool taken = false;
  std::int64_t available =
      0;  ///< whole tokens: left after a take, there at a refusal; may be negative
  milliseconds retry_after{0};  ///< of a refusal: the smallest wait after which it would be taken
};

/// As BucketStore in threads, lifetimes and errors.
class TokenStore {
 public:
  virtual ~TokenStore() = default;

  /// Takes `count` tokens at `now`, or none, from a bucket of capacity `limit.limit` into which
  /// `limit.limit` tokens come back in each `limit.window`. A bucket that does not exist is full.
  /// With a limit that differs from the one before what is used stays used. kInvalidArgument, and
  /// nothing changes: a count below 1 or above the limit, a limit without a window, a blocked
  /// account. kDeadlineExceeded, kUnavailable: may have been taken, once at the most.
  virtual void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count,
                    UnixMillis now, Deadline deadline, Done<TokenAnswer> done) = 0;
};

}  // namespace weir
