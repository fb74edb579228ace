// The ends of an Acquire: admitted, refused or failed.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "weir/limiter/adjust_sender.h"
#include "weir/limiter/charges/charges.h"
#include "weir/limiter/fail_open.h"
#include "weir/limiter/pending_acquire.h"
#include "weir/limiter/resolution/resolver.h"
#include "weir/limiter/waiting.h"
#include "weir/telemetry/counter.h"

namespace weir {

/// Completes calls. Each function removes the call from the wait queue and runs its `done` once.
/// Thread-safe.
class AcquireEnd {
 public:
  /// All must outlive it.
  AcquireEnd(Waiting& waiting, AdjustSender& adjusts, FailOpen& fail_open)
      : waiting_(waiting), adjusts_(adjusts), fail_open_(fail_open) {}

  /// Admits the call: the store or an allowance has taken the tokens.
  void Admit(CallPtr call, Decision decision);
  void Refuse(CallPtr call, Decision decision);
  /// Sets the charges of the call and returns it. Ends the call and returns null if the amounts are
  /// wrong, if a limit that blocks refuses them, or if nothing is to be charged.
  CallPtr SetCharges(CallPtr call, std::span<const PartView> parts);
  CallPtr SetCharges(CallPtr call, const PartView& part) {
    return SetCharges(std::move(call), {&part, 1});
  }
  /// Like SetCharges, for a group whose parts are resolved; sets its targets, too.
  CallPtr SetGroupCharges(CallPtr call);
  void Fail(CallPtr call, Error error);
  /// Fails a call because the limiter was closed.
  void Abandon(CallPtr call);
  /// Fails a call because its caller has requested a stop.
  void Stop(CallPtr call);
  /// Ends a call that has no decision because of `error`: admits it without a lease if
  /// FailOpen::Admits returns true, otherwise fails it.
  void OnStoreError(CallPtr call, Error error);
  void OnStoreError(CallPtr call, Error error, std::string_view entity, std::string_view resource);

  /// Counts a decision that was made without a PendingAcquire.
  void Count(const Decision& decision) { (decision.admitted ? charged_ : refused_).Add(); }
  std::uint64_t charged() const { return charged_.Value(); }
  std::uint64_t refused() const { return refused_.Value(); }
  std::uint64_t errors() const { return errors_.Value(); }

 private:
  /// Moves the charges from the call to a new lease.
  Lease MakeLease(PendingAcquire& call);

  Waiting& waiting_;
  AdjustSender& adjusts_;
  FailOpen& fail_open_;
  Counter charged_;
  Counter refused_;
  Counter errors_;
};

}  // namespace weir
