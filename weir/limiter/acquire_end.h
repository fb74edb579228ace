// The ends of an Acquire: admitted, refused or failed.
#pragma once

#include <string_view>

#include "weir/limiter/adjust_sender.h"
#include "weir/limiter/fail_open.h"
#include "weir/limiter/pending_acquire.h"
#include "weir/limiter/waiting.h"
#include "weir/telemetry/counter.h"

namespace weir {

/// Completes calls. Each function removes the call from the wait queue and runs its `done` once.
/// Thread-safe.
class AcquireEnd {
 public:
  /// `limiter` becomes the limiter of the leases. All must outlive it.
  AcquireEnd(Limiter& limiter, Waiting& waiting, AdjustSender& adjusts, FailOpen& fail_open)
      : limiter_(limiter), waiting_(waiting), adjusts_(adjusts), fail_open_(fail_open) {}

  /// The decision is to admit; the store or an allowance has taken the tokens.
  void Admit(CallPtr call, Decision decision);
  void Refuse(CallPtr call, Decision decision);
  void Fail(CallPtr call, Error error);
  /// Fails a call because the limiter was closed.
  void Abandon(CallPtr call);
  /// Without a decision: fails, or admits without a charge if the policy says so.
  void OnStoreError(CallPtr call, Error error);
  void OnStoreError(CallPtr call, Error error, std::string_view entity, std::string_view resource);

  /// Counts a decision that was made without a call.
  void Count(const Decision& decision) { (decision.admitted ? charged_ : refused_).Add(); }
  std::uint64_t charged() const { return charged_.Value(); }
  std::uint64_t refused() const { return refused_.Value(); }
  std::uint64_t errors() const { return errors_.Value(); }

 private:
  Limiter& limiter_;
  Waiting& waiting_;
  AdjustSender& adjusts_;
  FailOpen& fail_open_;
  Counter charged_;
  Counter refused_;
  Counter errors_;
};

}  // namespace weir
