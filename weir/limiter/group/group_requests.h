// Starts requests on several pairs.
//
//   Acquire --> FindParts --+--> Start --> AcquireAttempt::Enter; then like every Acquire
//                           +--> ResolvePairs (pairs that are not cached) --> Start
#pragma once

#include "weir/limiter/acquire_attempt.h"
#include "weir/limiter/acquire_end.h"
#include "weir/limiter/group/group_parts.h"
#include "weir/limiter/group/group_request.h"
#include "weir/limiter/resolution/resolver.h"

namespace weir {

/// Thread-safe. All constructor arguments must outlive it.
class GroupRequests {
 public:
  /// `by_default` applies if neither the request nor the limits have a policy.
  GroupRequests(Resolver& resolver, AcquireEnd& end, AcquireAttempt& attempt,
                OnUnavailable by_default)
      : resolver_(resolver), end_(end), attempt_(attempt), by_default_(by_default) {}

  /// See Limiter::AcquireAll.
  void Acquire(const GroupRequest& request, Deadline deadline, Done<GroupOutcome> done);

 private:
  /// Sets the charges of a group whose parts are resolved, then calls AcquireAttempt::Enter.
  void Start(CallPtr call);

  Resolver& resolver_;
  AcquireEnd& end_;
  AcquireAttempt& attempt_;
  const OnUnavailable by_default_;
};

}  // namespace weir
