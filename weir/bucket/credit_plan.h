// How a CreditBucket divides its capacity.
#pragma once

#include <cstdint>

#include "weir/base/result.h"
#include "weir/bucket/gcra.h"
#include "weir/bucket/quota.h"

namespace weir {

/// A smaller block would not be worth the trip.
inline constexpr std::int64_t kSmallestBlock = 4;

struct CreditPlan {
  /// kInvalidArgument for a quota that cannot be kept (Gcra::For) and for threads < 1.
  static Result<CreditPlan> For(const Quota& quota, int threads);
  /// REQUIRES: For(quota, threads) succeeds. Ends the program with the reason otherwise.
  static CreditPlan Require(const Quota& quota, int threads);

  Gcra kernel;  ///< capacity - threads * block, at the whole rate
  int threads = 1;
  /// Tokens a handle may hold: capacity / (4 * threads), or 0 where that is below kSmallestBlock.
  std::int64_t block = 0;
  std::int64_t credit_life_nanos = 0;  ///< one refill period
};

}  // namespace weir
