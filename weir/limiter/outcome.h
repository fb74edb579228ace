// The result of a request for tokens.
#pragma once

#include <utility>

#include "weir/base/api.h"
#include "weir/limiter/lease.h"
#include "weir/store/bucket/decision.h"

namespace weir {

/// The result of a request: the decision and, if the request is admitted, the lease.
///
/// The capacity that a decision shows for a limit with an allowance (Limit::allowance) excludes the
/// part that is set aside for the allowance. If the decision was made from an allowance, without
/// the store, the available tokens are those that the last result of the store left in the bucket
/// plus those that this Limiter holds. A decision has no statuses if it is unprotected or
/// contended, if the request named only limits that block, each with an amount of 0, or if the
/// request was refused without a call for tokens and its buckets could not be read in time.
class WEIR_API Outcome {
 public:
  Outcome(Decision&& decision, Lease&& lease)
      : decision_(std::move(decision)),
        lease_(std::move(lease)),
        unprotected_(decision_.admitted && !lease_.active()) {}

  bool admitted() const { return decision_.admitted; }
  const Decision& decision() const { return decision_; }
  /// Returns true if the request was admitted by policy because the store was unavailable. The
  /// lease is inactive. If the store returned kUnavailable, nothing was charged. If it was late
  /// (kDeadlineExceeded), it may have charged the request, or charges it later
  /// (BucketStore::AcquireAndKeep). So a caller must not charge the use by other means.
  bool unprotected() const { return unprotected_; }
  /// Returns the lease, which the caller then owns. REQUIRES: admitted().
  Lease lease() && { return std::move(lease_); }

 private:
  Decision decision_;
  Lease lease_;
  bool unprotected_;
};

}  // namespace weir
