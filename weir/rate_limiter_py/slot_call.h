// One Release, Bind or Renew in rate-limiter-py's non-fungible table: protocols
// without I/O. Each begins with the slot's item and changes it, in one transaction with its place
// in the roster, only where it is still as it was seen; what others changed comes back with the
// refusal, and is where the next round begins. Slots of rate-limiter-py's clients have no place in
// a roster.
#pragma once

#include <optional>
#include <string>

#include "weir/rate_limiter_py/roster.h"
#include "weir/rate_limiter_py/slot_step.h"
#include "weir/store/slot_rules.h"

namespace weir::rate_limiter_py {

/// What a slot must be to be released in somebody's name.
struct ReleaseFence {
  std::string resource_id;      ///< bound to this; its own id: not bound
  UnixMillis claimed_until;     ///< not claimed later
  bool spares_undated = false;  ///< as EndedResource
};

struct ReleaseTarget {
  dynamo::TableKey place;
  std::optional<AccountKey> key{};      ///< only if it is of this key
  std::optional<ReleaseFence> fence{};  ///< only if it is so
};

/// Begin once; then each step is answered by one event. False: it is not held.
///
/// A slot of theirs that was seen unbound and is bound meanwhile stays (kAborted): somebody made a
/// token of it. One that has expired is left to DynamoDB.
class ReleaseCall {
 public:
  using Answer = bool;
  using Step = SlotStep<bool, Reads, Transaction>;

  ReleaseCall(ReleaseTarget target, UnixMillis now) : target_(std::move(target)), now_(now) {}

  Step Begin() { return Reads{target_.place}; }
  Step OnRead(const Items& items) { return Plan(items[0]); }
  Step OnWrite(const WriteOutcome& outcome, UnixMillis now);

 private:
  Step Plan(const std::optional<dynamo::Item>& item);
  Step Send() const;
  Result<std::optional<HeldSlot>> Read(const dynamo::Item& item) const;
  bool IsHeld() const { return slot_.expires > now_; }

  ReleaseTarget target_;
  UnixMillis now_;
  HeldSlot slot_{};  // as it was seen
  bool has_place_ = false;
  int rounds_ = 0;
};

struct SlotMove {
  SlotRef slot;
  std::optional<std::string> resource_id;  ///< of a Bind; nothing: a Renew
  milliseconds ttl{0};
};

/// Begin once; then each step is answered by one event.
class MoveCall {
 public:
  using Answer = HeldSlot;
  using Step = SlotStep<HeldSlot, Reads, Transaction>;

  /// REQUIRES: a valid move.
  MoveCall(SlotMove move, UnixMillis now) : move_(std::move(move)), now_(now) {}

  Step Begin() { return Reads{SlotKey(move_.slot)}; }
  Step OnRead(const Items& items);
  Step OnWrite(const WriteOutcome& outcome, UnixMillis now);

 private:
  Step Plan(const std::optional<dynamo::Item>& item);
  Step OnRoster(const std::optional<dynamo::Item>& item);
  template <class MakeRoster>
  Step Send(MakeRoster roster) const;
  Step SendBlindly() const;
  Step Ended(ReleaseCall::Step step) const;
  tl::unexpected<Error> NotHeld() const;
  bool is_ours() const { return IsOurs(move_.slot.id); }

  SlotMove move_;
  UnixMillis now_;
  HeldSlot seen_{};
  HeldSlot moved_{};                      // as it will be
  bool binds_ = false;                    // so the thing must not have ended
  std::optional<ReleaseCall> release_{};  // it has
  int rounds_ = 0;
};

}  // namespace weir::rate_limiter_py
