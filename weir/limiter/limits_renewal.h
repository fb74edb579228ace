// Renewal of outdated limits. If a bucket has other limits than those that were resolved, the
// limits are resolved again, without the cache, and the store is called again. Mechanism:
// docs/design/limiter.md.
//
//   OnStoreResult: outdated --> RenewCall --+--> Resolver::Renew --> TryRenewed --> Try
//                                           +--> RenewGroup (a group: Renew for each pair)
//                                           |      --> TryRenewedGroup --> Try
//                                           +--> after kMaxRenewals: OnRefusal, as contended
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weir/limiter/acquire_end.h"
#include "weir/limiter/outdated_log.h"
#include "weir/limiter/resolution/resolver.h"
#include "weir/telemetry/counter.h"

namespace weir {

class AcquireAttempt;

/// Thread-safe. All constructor arguments must outlive it.
class LimitsRenewal {
 public:
  LimitsRenewal(Resolver& resolver, AcquireAttempt& attempt, AcquireEnd& end, OutdatedLog& log)
      : resolver_(resolver), attempt_(attempt), end_(end), log_(log) {}
  /// Call this before anything else. This object is a member of the owner; RenewTargets keeps the
  /// owner alive until it has its result.
  void Bind(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

  /// Resolves the limits without the cache and tries again. If the call has had kMaxRenewals
  /// renewals, or if the request itself sets the limits, treats the call as refused instead
  /// (AcquireAttempt::OnRefusal).
  void RenewCall(CallPtr call);
  /// Resolves limits for which no call waits. The first of `targets` is the pair's own.
  void RenewTargets(std::vector<TargetPtr> targets, Deadline deadline);

  std::uint64_t outdated() const { return outdated_.Value(); }

 private:
  /// Charges the call under the new limits and tries it.
  void TryRenewed(CallPtr call, Result<ResolvedPtr> resolved);
  /// Resolves the parts of a group that have no target of their own, and tries again.
  void RenewGroup(CallPtr call);
  void TryRenewedGroup(CallPtr call, PairResults pairs);
  /// Logs that `outdated` were resolved again, and whether the result differs.
  void LogRenewal(std::span<const TargetPtr> outdated, const Resolved& renewed);

  Resolver& resolver_;
  AcquireAttempt& attempt_;
  AcquireEnd& end_;
  OutdatedLog& log_;
  std::weak_ptr<void> owner_;
  Counter outdated_;
};

}  // namespace weir
