// Divides the capacity of a CreditBucket between its kernel and the blocks of its handles.
#pragma once

#include <cstdint>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/bucket/gcra.h"
#include "weir/bucket/quota.h"

namespace weir {

/// Smaller blocks are not used: they would save too few accesses to the kernel.
inline constexpr std::int64_t kSmallestBlock = 4;

struct WEIR_API CreditPlan {
  /// Returns kInvalidArgument for a quota that Gcra::For refuses and for threads < 1.
  static Result<CreditPlan> For(const Quota& quota, int threads);
  /// REQUIRES: For(quota, threads) succeeds; otherwise prints the reason and aborts.
  static CreditPlan Require(const Quota& quota, int threads);

  /// The limiter of the shared tokens: capacity - threads * block, at the whole rate.
  Gcra kernel;
  int threads = 1;
  /// The largest number of tokens in a handle: capacity / (4 * threads), or 0 if that is below
  /// kSmallestBlock.
  std::int64_t block = 0;
  std::int64_t credit_life_nanos = 0;  ///< a block expires after one refill period
};

}  // namespace weir
