// One Claim in rate-limiter-py's non-fungible table: a protocol without I/O.
//
//   state           event                         next
//   Begin           the limit is 0                LookOnly
//                   otherwise                     CountTheirs
//   CountTheirs     no room for ours              LookOnly
//                   otherwise                     TakeSlot
//   LookOnly        read                          refused
//   TakeSlot,       written                       claimed
//   ReplaceRoster   the roster refuses            PlanClaim
//   PlanClaim       room                          TakeSlot, or ReplaceRoster if expired slots are
//                                                 dropped or a sweep is due
//                   full, and a recount is due    CountOurs
//                   full                          refused
//   CountOurs       room                          ReplaceRoster
//                   full                          the recount is written, then refused
//
// "Theirs" are the slots of rate-limiter-py's clients, "ours" those of Weir's clients. Theirs are
// counted first. Then one transaction counts the new slot in the roster, if there is room, and puts
// the slot. A refused transaction returns the roster; the next attempt drops expired slots from the
// roster. Before the claim is refused, a roster that was not recounted for some time is compared
// with the items of our slots, because others delete our slots without changing the roster. If
// LookOnly, TakeSlot or ReplaceRoster finds an item with the id of the claim, the claim returns the
// slot in that item, or fails if the slot is no longer held.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "weir/rate_limiter_py/slots/roster.h"
#include "weir/rate_limiter_py/slots/slot_step.h"

namespace weir::rate_limiter_py {

struct SlotStoreOptions {
  /// The largest difference between the clocks of the processes that share the table. A slot of
  /// ours is given to another holder this long after it has expired; if clocks differ by more, two
  /// holders may have it at once. `skew` is also the time limit of one try of a claim, a binding or
  /// a renewal. Positive.
  milliseconds skew{1000};
  /// The time after which a full roster is recounted. If a slot was deleted by another program, its
  /// capacity becomes free after up to this time.
  milliseconds recount_after{10'000};
  std::uint64_t seed = 0;  ///< the seed of request tokens; must differ between processes
};

/// Call Begin once; then exactly one event follows each step.
class ClaimCall {
 public:
  using Value = ClaimResult;
  using Step = SlotStep<ClaimResult, dynamo::QueryRequest, Reads, Transaction>;

  /// REQUIRES: the claim is valid.
  ClaimCall(SlotClaim claim, UnixMillis now, SlotStoreOptions options);

  Step Begin();
  Step OnQuery(dynamo::QueryResponse page);
  Step OnRead(const Items& items);
  Step OnWrite(const WriteOutcome& outcome, UnixMillis now);

 private:
  const AccountKey& key() const { return claim_.slot.key; }
  /// The number of our slots that may be held.
  std::int64_t room() const { return claim_.limit - theirs_; }
  std::int64_t LastGone() const;  // the last second whose slots have expired by every clock

  Step CountTheirs(dynamo::QueryResponse page);
  /// Counts our slots for a recount.
  Step CountOurs(dynamo::QueryResponse page);
  /// Reads the roster for a refusal, and the slot, which an earlier call may have put.
  Step LookOnly() const;
  /// Puts the slot, and counts it in the roster as it is by then, if that roster has room.
  Step TakeSlot() const;
  /// Continues after the roster has refused the transaction.
  Step PlanClaim(Roster seen, UnixMillis now);
  /// Puts the slot, and replaces the roster `seen_` with `after`, in which it counts the slot.
  Step ReplaceRoster(const Roster& after) const;
  bool MayRecount(UnixMillis now) const;
  /// Returns the slot of an item with the id of the claim.
  Step OnExistingSlot(const std::optional<dynamo::Item>& item) const;
  Step RefuseClaim(const Roster& roster) const;

  SlotClaim claim_;
  UnixMillis now_;
  SlotStoreOptions options_;
  HeldSlot slot_;  // the slot to be put
  std::int64_t theirs_ = 0;
  std::optional<UnixMillis> theirs_expire_{};  // the earliest of their expiries
  bool saw_all_theirs_ = true;
  Roster seen_{};
  std::optional<dynamo::QueryRequest> recount_{};  // the query of the recount, if one has begun
  std::map<std::int64_t, std::int64_t> found_{};   // slots of the recount, by their second
  std::optional<Roster> refusing_{};               // the recount that is written before a refusal
  int rounds_ = 0;
};

}  // namespace weir::rate_limiter_py
