#include "weir/store/reservation/slot_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/bucket_time.h"
#include "weir/model/quoted.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir {
namespace {

bool IsHeld(const std::optional<HeldSlot>& slot, UnixMillis now) {
  return slot && now < slot->expires;
}

// If the slot was claimed far ahead of `now`, under a wrong clock, sets its claim to now and keeps
// the time between claim and expiry. REQUIRES: IsHeld.
Status SetBackIfAhead(ReservationRows& rows, HeldSlot& slot, UnixMillis now) {
  if (!IsFarAhead(slot.claimed, now)) return {};
  slot.expires = now + std::max(slot.expires - slot.claimed, milliseconds(0));
  slot.claimed = now;
  return rows.PutSlot(slot);
}

// Counts the held slots. Slots that were claimed far ahead are set back only if the count reaches
// the limit, since only then do they matter.
Result<HeldCount> CountHeld(ReservationRows& rows, const SlotClaim& claim, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(HeldCount held, rows.CountHeld(claim.slot.key, now));
  if (held.slots < claim.limit) return held;
  WEIR_ASSIGN_OR_RETURN(auto ahead, rows.ClaimedAfter(claim.slot.key, now + kMaxAhead));
  if (ahead.empty()) return held;
  for (HeldSlot& slot : ahead) WEIR_RETURN_IF_ERROR(SetBackIfAhead(rows, slot, now));
  return rows.CountHeld(claim.slot.key, now);
}

Result<HeldSlot> FindHeld(ReservationRows& rows, const SlotRef& slot, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(auto found, rows.FindSlot(slot));
  if (IsHeld(found, now)) {
    WEIR_RETURN_IF_ERROR(SetBackIfAhead(rows, *found, now));
    return *std::move(found);
  }
  return Fail(Code::kNotFound,
              fmt::format("{}: slot {} is not held: it has expired or was released",
                          Describe(slot.key), Quoted(slot.id)));
}

// Returns true if the end applies to a slot that was claimed at `claimed`, which is 0 if a client
// of rate-limiter-py claimed the slot: these clients do not store the time.
bool AppliesTo(const EndedResource& ended, UnixMillis claimed) {
  if (ended.spares_undated && claimed == UnixMillis{0}) return false;
  return claimed <= ended.ended_at;
}

// Returns true if an end of the resource is remembered that applies to a slot claimed at `claimed`
// and bound at `now`.
Result<bool> HasEnded(ReservationRows& rows, const std::string& resource_id, UnixMillis claimed,
                      UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(const auto ended, rows.FindEnded(resource_id));
  return ended && now < ended->remember_until && !IsFarAhead(ended->ended_at, now) &&
         AppliesTo(*ended, claimed);
}

// Stores the end. If an end is remembered already, the later `ended_at` and the later
// `remember_until` are stored, so neither report weakens the other.
Status RecordEnd(ReservationRows& rows, EndedResource ended, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(const auto before, rows.FindEnded(ended.resource_id));
  if (before && !IsFarAhead(before->ended_at, now)) {
    ended.ended_at = std::max(ended.ended_at, before->ended_at);
    ended.remember_until = std::max(ended.remember_until, before->remember_until);
  }
  WEIR_RETURN_IF_ERROR(rows.PutEnded(ended));
  return rows.Sweep(now);
}

}  // namespace

Result<ClaimResult> ClaimSlot(ReservationRows& rows, const SlotClaim& claim, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(auto same, rows.FindSlot(claim.slot));
  if (IsHeld(same, now)) return ClaimResult{.slot = std::move(same)};
  // Expired slots are erased, so that they are not held again for a caller whose clock is behind.
  WEIR_RETURN_IF_ERROR(rows.EraseExpired(claim.slot.key, now));
  WEIR_ASSIGN_OR_RETURN(const HeldCount held, CountHeld(rows, claim, now));
  if (held.slots >= claim.limit) {
    return ClaimResult{.slot = {}, .in_use = held.slots, .next_expiry = held.next_expiry};
  }
  HeldSlot slot{.key = claim.slot.key,
                .id = claim.slot.id,
                .resource_id = claim.slot.id,
                .claimed = now,
                .expires = now + claim.ttl};
  WEIR_RETURN_IF_ERROR(rows.PutSlot(slot));
  WEIR_RETURN_IF_ERROR(rows.Sweep(now));
  return ClaimResult{.slot = std::move(slot)};
}

Result<HeldSlot> BindSlot(ReservationRows& rows, const SlotBinding& binding, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(HeldSlot slot, FindHeld(rows, binding.slot, now));
  if (slot.bound() && slot.resource_id != binding.resource_id) {
    return Fail(
        Code::kFailedPrecondition,
        fmt::format("{}: slot {} is bound to {} already; claim another for {}", Describe(slot.key),
                    Quoted(slot.id), Quoted(slot.resource_id), Quoted(binding.resource_id)));
  }
  WEIR_ASSIGN_OR_RETURN(const bool ended, HasEnded(rows, binding.resource_id, slot.claimed, now));
  if (ended) {
    WEIR_RETURN_IF_ERROR(rows.EraseSlot(binding.slot));
    return Fail(Code::kFailedPrecondition,
                fmt::format("{}: {} has ended already: its slot is free again", Describe(slot.key),
                            Quoted(binding.resource_id)));
  }
  slot.resource_id = binding.resource_id;
  slot.expires = now + binding.ttl;
  WEIR_RETURN_IF_ERROR(rows.PutSlot(slot));
  return slot;
}

Result<HeldSlot> RenewSlot(ReservationRows& rows, const SlotRef& slot, milliseconds ttl,
                           UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(HeldSlot held, FindHeld(rows, slot, now));
  if (now + ttl <= held.expires) return held;
  held.expires = now + ttl;
  WEIR_RETURN_IF_ERROR(rows.PutSlot(held));
  return held;
}

Result<bool> ReleaseSlot(ReservationRows& rows, const SlotRef& slot, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(const auto found, rows.FindSlot(slot));
  if (!found) return false;
  WEIR_RETURN_IF_ERROR(rows.EraseSlot(slot));
  return IsHeld(found, now);
}

Result<bool> ReleaseUnboundSlot(ReservationRows& rows, const SlotRef& slot, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(const auto found, rows.FindSlot(slot));
  if (found && found->bound()) return false;
  return ReleaseSlot(rows, slot, now);
}

Result<std::size_t> ReleaseBound(ReservationRows& rows, const EndedResource& ended,
                                 UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(auto bound, rows.BoundTo(ended.resource_id));
  std::size_t released = 0;
  for (HeldSlot& slot : bound) {
    if (IsHeld(slot, now)) WEIR_RETURN_IF_ERROR(SetBackIfAhead(rows, slot, now));
    if (!AppliesTo(ended, slot.claimed)) continue;
    WEIR_RETURN_IF_ERROR(rows.EraseSlot({.key = slot.key, .id = slot.id}));
    if (IsHeld(slot, now)) ++released;
  }
  if (now < ended.remember_until) WEIR_RETURN_IF_ERROR(RecordEnd(rows, ended, now));
  return released;
}

Result<Page<HeldSlot>> ListSlots(ReservationRows& rows, SlotRange range, UnixMillis now) {
  const std::size_t limit = range.limit;
  // Reads one more slot to find out whether there is another page. (SIZE_MAX cannot be increased.)
  range.limit += limit < SIZE_MAX ? 1 : 0;
  Page<HeldSlot> page;
  WEIR_ASSIGN_OR_RETURN(page.items, rows.ListHeld(range, now));
  if (page.items.size() > limit) {
    page.items.resize(limit);
    page.next = SlotCursor(range.key, page.items.back().id);
  }
  return page;
}

}  // namespace weir
