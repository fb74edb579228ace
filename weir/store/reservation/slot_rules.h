// The rules of ReservationStore: what each method returns and changes, independent of how the rows
// are stored. The arguments have been checked before (reservation_checks.h).
//
// A slot whose `claimed` is far ahead of `now` (IsFarAhead) was claimed under a wrong clock. The
// first call that names the slot, would release it, or is refused because of it sets `claimed` to
// now and keeps the time from `claimed` to `expires`. A remembered end whose time is far ahead is
// ignored.
#pragma once

#include <cstddef>
#include <string>

#include "weir/store/reservation/reservation_rows.h"

namespace weir {

struct SlotBinding {
  SlotRef slot;
  std::string resource_id;
  milliseconds ttl{0};
};

[[nodiscard]] Result<ClaimResult> ClaimSlot(ReservationRows& rows, const SlotClaim& claim,
                                            UnixMillis now);
[[nodiscard]] Result<HeldSlot> BindSlot(ReservationRows& rows, const SlotBinding& binding,
                                        UnixMillis now);
[[nodiscard]] Result<HeldSlot> RenewSlot(ReservationRows& rows, const SlotRef& slot,
                                         milliseconds ttl, UnixMillis now);
[[nodiscard]] Result<bool> ReleaseSlot(ReservationRows& rows, const SlotRef& slot, UnixMillis now);
[[nodiscard]] Result<bool> ReleaseUnboundSlot(ReservationRows& rows, const SlotRef& slot,
                                              UnixMillis now);
[[nodiscard]] Result<std::size_t> ReleaseBound(ReservationRows& rows, const EndedResource& ended,
                                               UnixMillis now);
/// Returns at most `range.limit` slots.
[[nodiscard]] Result<Page<HeldSlot>> ListSlots(ReservationRows& rows, SlotRange range,
                                               UnixMillis now);

}  // namespace weir
