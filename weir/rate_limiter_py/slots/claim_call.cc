#include "weir/rate_limiter_py/slots/claim_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/model/quoted.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Write;

constexpr std::size_t kNoLimit = 1'000'000;  // DynamoDB ends a page after 1 MB

dynamo::QueryRequest RowsOf(const AccountKey& key) {
  dynamo::QueryRequest request;
  request.partition = Coordinate(key.resource, key.account);
  for (const std::string_view name : {kReservationId, kExpirationTime, kResourceName, kAccountId}) {
    request.attributes.emplace_back(name);
  }
  return request;
}

dynamo::QueryRequest QueryOfTheirs(const AccountKey& key) {
  dynamo::QueryRequest request = RowsOf(key);
  request.sort_below = kOurs;
  return request;
}

dynamo::QueryRequest QueryOfOurs(const AccountKey& key) {
  dynamo::QueryRequest request = RowsOf(key);
  request.sort_prefix = kOurs;
  request.limit = kNoLimit;  // request all items
  return request;
}

Write PutWrite(const HeldSlot& slot) {
  Write put{.kind = Write::Kind::kPut, .key = {}, .item = SlotItem(slot), .expression = {}};
  put.expression.RequireAbsent(kReservationId);
  return put;
}

Result<Roster> RosterIn(const std::optional<dynamo::Item>& item) {
  return item ? ReadRoster(*item) : Roster{};
}

}  // namespace

ClaimCall::ClaimCall(SlotClaim claim, UnixMillis now, SlotStoreOptions options)
    : claim_(std::move(claim)),
      now_(now),
      options_(options),
      slot_{.key = key(),
            .id = claim_.slot.id,
            .resource_id = claim_.slot.id,
            .claimed = now,
            .expires = AtSecond(ExpirySecond(now, claim_.ttl, 0))} {}

std::int64_t ClaimCall::LastGone() const { return dynamo::WholeSeconds(now_ - options_.skew); }

ClaimCall::Step ClaimCall::Begin() {
  if (claim_.limit == 0) return LookOnly();
  return QueryOfTheirs(key());
}

ClaimCall::Step ClaimCall::OnQuery(dynamo::QueryResponse page) {
  return recount_ ? CountOurs(std::move(page)) : CountTheirs(std::move(page));
}

ClaimCall::Step ClaimCall::CountTheirs(dynamo::QueryResponse page) {
  for (const dynamo::Item& item : page.items) {
    auto slot = ReadHeld(item, key(), now_);
    if (!slot) return Fail(std::move(slot.error()));
    if (!*slot) continue;
    ++theirs_;
    theirs_expire_ = std::min(theirs_expire_.value_or((*slot)->expires), (*slot)->expires);
  }
  // Their slots alone fill the limit: further pages are not needed.
  if (room() <= 0) {
    saw_all_theirs_ = !page.last_key;
    return LookOnly();
  }
  if (!page.last_key) return TakeSlot();
  dynamo::QueryRequest more = QueryOfTheirs(key());
  more.start_after = std::move(page.last_key);
  return more;
}

// There is no room, whatever the roster says; but an earlier call may have put the slot.
ClaimCall::Step ClaimCall::LookOnly() const {
  return Reads{RosterKey(key()), SlotKey(claim_.slot)};
}

ClaimCall::Step ClaimCall::OnRead(const Items& items) {
  if (items[1]) return OnExistingSlot(items[1]);
  auto roster = RosterIn(items[0]);
  if (!roster) return Fail(std::move(roster.error()));
  // Slots that have expired by every clock are not reported as in use. The roster's item is not
  // changed.
  roster->DropExpired(LastGone());
  return RefuseClaim(*roster);
}

ClaimCall::Step ClaimCall::TakeSlot() const {
  return Transaction([slot = slot_, room = room()](UnixMillis now) {
    return Writes{TakeWrite(slot.key, {SecondOf(slot), room, now}), PutWrite(slot)};
  });
}

ClaimCall::Step ClaimCall::OnWrite(const WriteOutcome& outcome, UnixMillis now) {
  const auto refusing = std::exchange(refusing_, std::nullopt);
  if (outcome) {
    if (refusing) return RefuseClaim(*refusing);
    return ClaimResult{.slot = slot_, .in_use = 0};
  }
  const dynamo::WriteFailure& failure = outcome.error();
  // Action 1 puts the slot: if it is refused, the id exists, so an earlier call has put the slot.
  // Action 0 changes the roster.
  if (IsRefusedBy(failure, 1)) return OnExistingSlot(failure.reasons[1].item);
  if (!IsRefusedBy(failure, 0)) return Fail(failure.error);
  if (++rounds_ > kMaxRounds) {
    return Fail(Code::kUnavailable,
                fmt::format("{}: others claim and release its slots all the time; try again",
                            Quoted(Describe(key()))));
  }
  auto roster = RosterIn(failure.reasons[0].item);
  if (!roster) return Fail(std::move(roster.error()));
  return PlanClaim(*std::move(roster), now);
}

ClaimCall::Step ClaimCall::PlanClaim(Roster seen, UnixMillis now) {
  seen_ = std::move(seen);
  Roster after = seen_;
  after.DropExpired(LastGone());
  slot_.expires = AtSecond(ExpirySecond(now_, claim_.ttl, after.dropped_until));
  if (after.held >= room()) {
    if (!MayRecount(now)) return RefuseClaim(after);
    recount_ = QueryOfOurs(key());
    return *recount_;
  }
  // If nothing is to be dropped, TakeSlot may count the slot in the roster as it is by then.
  if (after == seen_ && !seen_.IsSweepDue()) {
    return TakeSlot();
  }
  return ReplaceRoster(after);
}

ClaimCall::Step ClaimCall::ReplaceRoster(const Roster& after) const {
  return Transaction([slot = slot_, seen = seen_, after](UnixMillis now) {
    Roster with_slot = after;
    with_slot.AddSlot(SecondOf(slot), now);
    return Writes{ReplaceWrite(slot.key, seen, with_slot), PutWrite(slot)};
  });
}

// A query is not part of DynamoDB's order of transactions: it may miss a row that a transaction
// wrote a moment ago. The roster's time of writing is set when a try is made. The try may be
// applied up to one skew later, and the writer's clock may differ from ours by one skew. So that
// time must be at least three skews ago.
bool ClaimCall::MayRecount(UnixMillis now) const {
  const auto ago = [now](UnixMillis time) {
    return now >= time ? now - time : time - now;  // the writer's clock may be ahead
  };
  return !recount_ && ago(seen_.counted) >= options_.recount_after &&
         ago(seen_.written) >= 3 * options_.skew;
}

ClaimCall::Step ClaimCall::CountOurs(dynamo::QueryResponse page) {
  for (const dynamo::Item& item : page.items) {
    auto slot = ReadHeld(item, key(), kExpiredToo);
    if (!slot) return Fail(std::move(slot.error()));
    if (*slot) ++found_[SecondOf(**slot)];
  }
  recount_->start_after = std::move(page.last_key);
  if (recount_->start_after) return *recount_;
  Roster after = seen_;
  after.Recount(std::move(found_), now_);
  after.DropExpired(LastGone());
  slot_.expires = AtSecond(ExpirySecond(now_, claim_.ttl, after.dropped_until));
  if (after.held < room()) return ReplaceRoster(after);
  // Still full. First write the recount, so that the next claims do not repeat it; then refuse.
  refusing_ = after;
  return AnyTime({ReplaceWrite(key(), seen_, after)});
}

// There is an item with the id of the claim.
ClaimCall::Step ClaimCall::OnExistingSlot(const std::optional<dynamo::Item>& item) const {
  auto slot = item ? ReadHeld(*item, key(), now_) : std::nullopt;
  if (!slot) return Fail(std::move(slot.error()));
  if (*slot) return ClaimResult{.slot = std::move(*slot), .in_use = 0};
  return Fail(Code::kAlreadyExists,
              fmt::format("slot {} for {}: the id was used before, and its slot is held no more; "
                          "claim with a new id",
                          Quoted(claim_.slot.id), Quoted(Describe(key()))));
}

ClaimCall::Step ClaimCall::RefuseClaim(const Roster& roster) const {
  ClaimResult refusal{.slot = {}, .in_use = roster.held + theirs_, .next_expiry = theirs_expire_};
  if (const auto second = roster.Earliest()) {
    // A slot of ours is given to another holder one skew after it expires, a slot of theirs at
    // once.
    const UnixMillis free_at = AtSecond(*second) + options_.skew;
    refusal.next_expiry = std::min(refusal.next_expiry.value_or(free_at), free_at);
  }
  // A slot on a page that was not read may expire earlier.
  if (!saw_all_theirs_) refusal.next_expiry.reset();
  return refusal;
}

}  // namespace weir::rate_limiter_py
