// One Acquire that is under way.
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

/// What a request that may wait carries beyond its first try.
struct Patience {
  WaitQueue::Id id = 0;
  Instant until;
  nanoseconds budget;  ///< how long each try may take, as the first had
  std::string entity;
  std::string resource;
  Amounts amounts;
  ResolvedPtr resolved{};         ///< what the charges were made from; null: given with the request
  bool queued = false;            ///< has a place in the queue
  Instant tried{};                ///< when the try began
  std::uint64_t stamp = 0;        ///< Waiting::Stamp at that time
  std::shared_ptr<void> alive{};  ///< the Limiter may be destroyed while a try is under way
};

/// Owned by one party at a time: the caller, the queue, or the answer that is to come.
struct Call {
  Done<Outcome> done;
  Deadline deadline = Deadline::Never();
  std::vector<Charge> charges{};
  std::optional<OnUnavailable> policy{};  ///< the request's, then what holds for it
  std::unique_ptr<Patience> patience{};   ///< null: the request does not wait
  int renewals = 0;                       ///< of its limits, since its try began
  bool maybe_charged = false;             ///< by an earlier try, which was not admitted

  Instant asked{};  ///< when the store was asked last
  std::optional<Result<Decision>> answer{};
  /// The store's answer and the return of the call that asked for it meet here: true for the second
  /// of them. Not before both are done with the charges may they go.
  bool Meet() { return met.exchange(true, std::memory_order_acq_rel); }
  std::atomic<bool> met = false;
};
using CallPtr = std::unique_ptr<Call>;

/// In the order of the charges.
inline std::vector<TargetPtr> TargetsOf(std::span<const Charge> charges) {
  std::vector<TargetPtr> targets;
  targets.reserve(charges.size());
  for (const Charge& charge : charges) targets.push_back(charge.target);
  return targets;
}

}  // namespace weir
