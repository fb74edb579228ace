// The state of one Acquire that is in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/limiter/limiter.h"
#include "weir/limiter/wait_queue.h"

namespace weir {

/// The additional state of a request that may wait. It lasts over all its tries.
struct WaitState {
  WaitQueue::Id id = 0;
  Instant until;
  nanoseconds budget;  ///< time that each try may take; the first try had the same
  std::string entity;
  std::string resource;
  Amounts amounts;
  ResolvedPtr resolved{};   ///< source of the charges; null if the request has limits of its own
  bool queued = false;      ///< the wait queue has an entry for it, also while it tries
  Instant tried{};          ///< start of the last try
  std::uint64_t stamp = 0;  ///< Waiting::StampOf at that time
  std::shared_ptr<void> alive{};  ///< keeps the state: the Limiter may be destroyed during a try
};

/// A call has one owner at a time: the caller, the wait queue, or the pending result of the store.
struct PendingAcquire {
  Done<Outcome> done;
  Deadline deadline = Deadline::Never();
  std::vector<Charge> charges{};
  std::optional<OnUnavailable> policy{};  ///< of the request, then the one in force
  std::unique_ptr<WaitState> wait{};      ///< null: the request does not wait
  int renewals = 0;                       ///< of its limits, since its try began
  bool maybe_charged = false;             ///< by an earlier try, which was not admitted

  Instant asked{};  ///< start of the last call to the store
  std::optional<Result<Decision>> result{};
  /// Called by the store's completion and by the function that called the store when the call has
  /// returned. Returns true for the second of the two, which continues: only then does neither of
  /// them use the charges.
  bool ArriveSecond() { return one_has_arrived.exchange(true, std::memory_order_acq_rel); }
  std::atomic<bool> one_has_arrived = false;
};
using CallPtr = std::unique_ptr<PendingAcquire>;

/// Returns the targets in the order of the charges.
inline std::vector<TargetPtr> TargetsOf(std::span<const Charge> charges) {
  std::vector<TargetPtr> targets;
  targets.reserve(charges.size());
  for (const Charge& charge : charges) targets.push_back(charge.target);
  return targets;
}

}  // namespace weir
