// What happens to a request while there is no store (`on_unavailable`): it fails, or it is admitted
// without a charge.
#pragma once

#include <string_view>

#include "weir/limiter/pending_acquire.h"
#include "weir/limiter/resolution/resolver.h"
#include "weir/limiter/uncharged_log.h"
#include "weir/telemetry/counter.h"

namespace weir {

/// Returns true for the errors of an unavailable store, to which the policy applies. A store
/// without space for another bucket (kResourceExhausted) is available, and works as configured:
/// otherwise a client that fills the space would lift the limits of all callers without a bucket.
bool IsUnavailable(Code code);

/// Thread-safe. The resolver must outlive it.
class FailOpen {
 public:
  /// `by_default` applies if neither the request nor the limits have a policy.
  FailOpen(const Resolver& resolver, OnUnavailable by_default, Log& log, const Clock& clock)
      : resolver_(resolver), by_default_(by_default), log_(log, clock) {}

  /// Returns the policy for this call if the store is unavailable.
  OnUnavailable PolicyOf(const PendingAcquire& call) const;
  /// Returns whether the call, which has no decision because of `error`, is to be admitted without
  /// a charge. If so, counts and logs the admission.
  bool Admits(const PendingAcquire& call, const Error& error, std::string_view entity,
              std::string_view resource);
  void CountStoreError() { store_errors_.Add(); }

  std::uint64_t unprotected() const { return unprotected_.Value(); }
  std::uint64_t store_errors() const { return store_errors_.Value(); }

 private:
  const Resolver& resolver_;
  const OnUnavailable by_default_;
  UnchargedLog log_;
  Counter unprotected_;
  Counter store_errors_;
};

}  // namespace weir
