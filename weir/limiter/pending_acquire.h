// The state of one Acquire that is in flight.
#pragma once

#include <absl/container/inlined_vector.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "weir/limiter/group/group_parts.h"
#include "weir/limiter/limiter.h"
#include "weir/limiter/wait_queue.h"

namespace weir {

class Waiting;

/// Reports to the wait queue that the caller has requested a stop of this request.
struct StopReport {
  Waiting* waiting;
  WaitQueue::Id id;
  void operator()() const;
};

/// The additional state of a request that may wait, kept through all its tries.
struct WaitState {
  WaitQueue::Id id = 0;
  Instant until;       ///< end of the wait for tokens
  Deadline deadline;   ///< the deadline of the request; not before `until`
  nanoseconds budget;  ///< the time that the first try had until its deadline
  std::string entity;
  std::string resource;
  Amounts amounts;
  ResolvedPtr resolved{};   ///< source of the charges; null if the request has limits of its own
  bool queued = false;      ///< the wait queue has an entry for the request, also while it tries
  Instant try_start{};      ///< of the last try
  std::uint64_t stamp = 0;  ///< Waiting::StampOf at the start of the last try
  std::stop_token stop{};
  /// Reports a requested stop to the wait queue. Its destructor waits for the report to end, so it
  /// must not run under the lock of the queue.
  std::optional<std::stop_callback<StopReport>> on_stop{};
};

/// A call has one owner at a time: the caller, the wait queue, or the pending result of the store.
struct PendingAcquire {
  Done<Outcome> done;
  Deadline deadline = Deadline::Never();
  std::vector<Charge> charges{};
  std::vector<Charge> uncharged{};  ///< MakeUncharged; for the lease, not for the store
  bool is_own_charged = true;       ///< the first charge is on the pair's own bucket
  /// The limits that the request names with an amount of 0, which `charges` do not show. Set if the
  /// limits were resolved and `wait` is null. In place, so that a short name needs no allocation.
  absl::InlinedVector<std::string, 1> looked_at{};
  std::optional<OnUnavailable> own_policy{};  ///< of the request; takes precedence
  std::optional<OnUnavailable> policy{};      ///< read with the limits, or applied to the last try
  /// Keeps the state of the Limiter alive: the Limiter may be destroyed during the call. Set if
  /// AcquireRequest::wait is true, even if `wait` is null because the time to wait was already
  /// over. Destroyed after `wait`, whose stop callback uses this state.
  std::shared_ptr<void> limiter_state{};
  std::unique_ptr<WaitState> wait{};    ///< null: the request does not wait
  std::optional<PendingGroup> group{};  ///< set for a group, which has a `done` of its own
  int renewals = 0;                     ///< renewals of the limits since the current try began
  bool maybe_charged = false;           ///< by an earlier try that was not admitted
  /// The deadline of the request leaves this try less time than the first one had. If this time
  /// runs out, the store is not considered unavailable.
  bool is_cut_short = false;

  /// Returns whether all charges are those of one part, so that an allowance may decide them.
  bool has_one_part() const { return !group || group->parts.size() == 1; }
  /// Returns the own target of the pair; of a group, that of its first part. A bucket that has only
  /// limits that block among the named ones is not charged. REQUIRES: the charges were made.
  const TargetPtr& own() const {
    // Another part of a group may charge the own bucket of the first part.
    if (group) return group->targets.front().front();
    return is_own_charged ? charges.front().target : uncharged.front().target;
  }
  /// Passes the outcome to the caller.
  void Complete(Result<Outcome> outcome) {
    if (!group) return done(std::move(outcome));
    if (!outcome) return group->done(Fail(std::move(outcome.error())));
    group->done(GroupOutcome{*std::move(outcome), std::move(group->targets)});
  }

  Instant store_call_start{};  ///< of the last call
  std::optional<Result<Decision>> result{};
  /// Called twice: when the store completes, and when the store's function has returned. Returns
  /// true to the second caller, which then continues: the store does not use the charges any more.
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
