// One Release, Bind or Renew in rate-limiter-py's non-fungible table: protocols without I/O.
//
//   Release:  Begin --> PlanStep --> SendWrite --(written)--> released
//                        ^         |
//                        |         +--(the roster does not count the slot)--> write without roster
//                        +---------+--(the slot has changed)
//
//   Bind,     Begin --> PlanStep --> SendMove --(written)--> moved
//   Renew:               ^         |
//                        |         +--(the roster refuses)--> OnRoster --> SendMove, or
//                        |         |                                   SendWrite, with a new roster
//                        |         +--(the resource has ended)--> ReleaseCall --> OnEnded
//                        +---------+--(the slot has changed)
//
// Each call reads the slot's item and changes it, if it is still as it was read, in one transaction
// with the roster. A refused transaction returns the items, with which the next round begins. Slots
// of rate-limiter-py's clients are not counted in a roster.
#pragma once

#include <optional>
#include <string>

#include "weir/rate_limiter_py/slots/roster.h"
#include "weir/rate_limiter_py/slots/slot_step.h"
#include "weir/store/reservation/slot_rules.h"

namespace weir::rate_limiter_py {

/// Conditions under which a slot is released.
struct ReleaseFence {
  std::string resource_id;      ///< the slot is bound to this; the slot's own id: not bound
  UnixMillis claimed_until;     ///< the slot was not claimed later
  bool spares_undated = false;  ///< as in EndedResource
};

struct ReleaseTarget {
  dynamo::TableKey place;
  std::optional<AccountKey> key{};      ///< the slot must be of this key
  std::optional<ReleaseFence> fence{};  ///< the slot must satisfy these conditions
};

/// Call Begin once; then exactly one event follows each step. The result is false if the slot was
/// not held.
///
/// A slot of rate-limiter-py's clients that was read as unbound and has been bound meanwhile is not
/// released (kAborted), because another client made a token of it. DynamoDB deletes their expired
/// slots.
class ReleaseCall {
 public:
  using Value = bool;
  using Step = SlotStep<bool, Reads, Transaction>;

  ReleaseCall(ReleaseTarget target, UnixMillis now) : target_(std::move(target)), now_(now) {}

  Step Begin() { return Reads{target_.place}; }
  Step OnRead(const Items& items) { return PlanStep(items[0]); }
  Step OnWrite(const WriteOutcome& outcome, UnixMillis now);

 private:
  /// Decides, by the slot's item, whether to release it.
  Step PlanStep(const std::optional<dynamo::Item>& item);
  /// Deletes the slot, and removes it from the roster if the roster counts it.
  Step SendWrite() const;
  Result<std::optional<HeldSlot>> ReadTarget(const dynamo::Item& item) const;
  bool IsHeld() const { return slot_.expires > now_; }

  ReleaseTarget target_;
  UnixMillis now_;
  HeldSlot slot_{};          // as it was read
  bool is_counted_ = false;  // the roster counts it
  int rounds_ = 0;
};

struct SlotMove {
  SlotRef slot;
  std::optional<std::string> resource_id;  ///< the resource id of a Bind; nothing for a Renew
  milliseconds ttl{0};
};

/// Call Begin once; then exactly one event follows each step.
class UpdateSlotCall {
 public:
  using Value = HeldSlot;
  using Step = SlotStep<HeldSlot, Reads, Transaction>;

  /// REQUIRES: the move is valid.
  UpdateSlotCall(SlotMove move, UnixMillis now) : move_(std::move(move)), now_(now) {}

  Step Begin() { return Reads{SlotKey(move_.slot)}; }
  Step OnRead(const Items& items);
  Step OnWrite(const WriteOutcome& outcome, UnixMillis now);

 private:
  /// Decides, by the slot's item, what to write.
  Step PlanStep(const std::optional<dynamo::Item>& item);
  /// Continues after the roster has refused the transaction.
  Step OnRoster(const std::optional<dynamo::Item>& item);
  /// Sends the slot's item and, for a slot of ours, the write of the roster that `make` returns.
  template <class MakeRoster>
  Step SendWrite(MakeRoster make) const;
  /// Moves the slot's expiry in its item and in the roster. Does not need the roster's contents.
  Step SendMove() const;
  /// Carries out a step of the release of a slot whose resource has ended.
  Step OnEnded(ReleaseCall::Step step) const;
  tl::unexpected<Error> NotHeld() const;
  bool is_ours() const { return IsOurs(move_.slot.id); }

  SlotMove move_;
  UnixMillis now_;
  HeldSlot seen_{};
  HeldSlot moved_{};                      // the slot to be written
  bool binds_ = false;                    // a binding: requires that the resource has not ended
  std::optional<ReleaseCall> release_{};  // set if the resource has ended
  int rounds_ = 0;
};

}  // namespace weir::rate_limiter_py
