// Charges without a decision (Limiter::Debit).
//
//   Debit --> FindParts --+------------------+--> Start --> Send --+--> done
//                         +--> ResolvePairs -+                     +--> in doubt: Send again,
//                              (not cached)                             under the same id
#pragma once

#include <memory>
#include <span>

#include "weir/base/done.h"
#include "weir/limiter/adjust_sender.h"
#include "weir/limiter/group/group_parts.h"
#include "weir/limiter/group/group_request.h"
#include "weir/limiter/resolution/resolver.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// Thread-safe. All constructor arguments must outlive it.
class Debits {
 public:
  Debits(Resolver& resolver, AdjustSender& adjusts, Scheduler& scheduler)
      : resolver_(resolver), adjusts_(adjusts), scheduler_(scheduler) {}

  /// See Limiter::Debit.
  void Debit(std::span<const AcquirePart> parts, Deadline deadline, Done<void> done);

 private:
  struct Pending;
  using PendingPtr = std::unique_ptr<Pending>;

  /// Makes the adjust of a debit whose parts are resolved, and sends it.
  void Start(PendingPtr debit);
  void Send(PendingPtr debit);
  /// Sends the debit again if its result is in doubt and there is time; otherwise ends it.
  void OnResult(PendingPtr debit, Status result);

  Resolver& resolver_;
  AdjustSender& adjusts_;
  Scheduler& scheduler_;
};

}  // namespace weir
