// One Claim in rate-limiter-py's non-fungible table: a protocol without I/O.
//
// Their rows are counted. Then one transaction takes a place in the roster, if there is one, and
// puts the slot. Where it is refused the roster comes back: places of slots that expired are given
// away with the next try; and before the claim is refused, a roster that was not held against the
// slots' own items for a while is recounted, because others delete our slots without telling it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "weir/rate_limiter_py/roster.h"
#include "weir/rate_limiter_py/slot_step.h"

namespace weir::rate_limiter_py {

struct SlotStoreOptions {
  /// How far apart the clocks of those who share the table may be. A slot of ours is given to
  /// another so long after it expired. More: two may hold one. Also how long one try of a claim, a
  /// binding or a renewal may take: positive.
  milliseconds skew{1000};
  /// How long a full roster is believed before it is recounted. Where something that was deleted
  /// behind our back frees a slot, that is seen so much later.
  milliseconds recount_after{10'000};
};

/// Begin once; then each step is answered by one event.
class ClaimCall {
 public:
  using Answer = ClaimAnswer;
  using Step = SlotStep<ClaimAnswer, dynamo::QueryRequest, Reads, Transaction>;

  /// REQUIRES: a valid claim.
  ClaimCall(SlotClaim claim, UnixMillis now, SlotStoreOptions options);

  Step Begin();
  Step OnQuery(dynamo::QueryAnswer page);
  Step OnRead(const Items& items);
  Step OnWrite(const WriteOutcome& outcome, UnixMillis now);

 private:
  const AccountKey& key() const { return claim_.slot.key; }
  std::int64_t room() const { return claim_.limit - theirs_; }
  std::int64_t LastGone() const;  // the last second at which slots expired for everybody

  Step CountTheirs(dynamo::QueryAnswer page);
  Step CountOurs(dynamo::QueryAnswer page);
  Step LookOnly() const;
  Step Take() const;
  Step Plan(Roster seen, UnixMillis now);
  Step Replace(const Roster& after) const;
  bool MayRecount(UnixMillis now) const;
  Step OnSame(const std::optional<dynamo::Item>& item) const;
  Step Refuse(const Roster& roster) const;

  SlotClaim claim_;
  UnixMillis now_;
  SlotStoreOptions options_;
  HeldSlot slot_;  // as it will be
  std::int64_t theirs_ = 0;
  std::optional<UnixMillis> theirs_expire_{};  // the first of them
  bool saw_all_theirs_ = true;
  Roster seen_{};
  std::optional<dynamo::QueryRequest> recount_{};  // of ours, from when on it was begun
  std::map<std::int64_t, std::int64_t> found_{};
  std::optional<Roster> refusing_{};  // nothing but the recount is being written
  int rounds_ = 0;
};

}  // namespace weir::rate_limiter_py
