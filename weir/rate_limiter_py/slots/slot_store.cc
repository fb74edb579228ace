#include "weir/rate_limiter_py/slots/slot_store.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "weir/bucket/key_hash.h"
#include "weir/dynamodb/paging.h"
#include "weir/rate_limiter_py/slots/release_resource_call.h"
#include "weir/rate_limiter_py/slots/slot_call.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir::rate_limiter_py {
namespace {

Status CheckOurs(const SlotClaim& claim) {
  WEIR_RETURN_IF_ERROR(Check(claim));
  if (IsOurs(claim.slot.id)) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("slot id: it does not begin with '{}'; claim with one of NewSlotId", kOurs));
}

Status CheckMove(const SlotMove& move) {
  WEIR_RETURN_IF_ERROR(move.resource_id ? CheckBinding(move.slot, *move.resource_id)
                                        : Check(move.slot));
  return CheckSlotLife(move.slot.key, move.ttl);
}

// Returns the id after which the page begins.
Result<std::string> CheckList(const AccountKey& key, const PageRequest& page) {
  WEIR_RETURN_IF_ERROR(Check(key));
  return ReadSlotCursor(key, page);
}

std::string TextOf(const Writes& writes) {
  std::string text;
  for (const dynamo::Write& write : writes) {
    text += fmt::format("{} {} {}", static_cast<int>(write.kind), write.key.pk, write.key.sk);
    AppendJson(text, write.item);
    write.expression.AppendTo(text);
  }
  return text;
}

}  // namespace

/// A pending call. It is owned by the callback of its next event.
template <class Call>
struct SlotStore::Running {
  Call call;
  UnixMillis asked;  ///< the `now` of the caller
  Instant began;
  Deadline deadline;
  Done<typename Call::Value> done;

  /// Returns the time by the caller's clock.
  UnixMillis Now(const Clock& clock) const {
    return asked + std::chrono::floor<milliseconds>(clock.Now() - began);
  }
};

SlotStore::SlotStore(dynamo::Table& table, const Clock& clock, std::string resource_index,
                     SlotStoreOptions options)
    : table_(table), clock_(clock), resource_index_(std::move(resource_index)), options_(options) {}

template <class Call>
void SlotStore::StartCall(Call call, UnixMillis now, Deadline deadline,
                          Done<typename Call::Value> done) {
  auto running = std::make_unique<Running<Call>>(
      Running<Call>{std::move(call), now, clock_.Now(), deadline, std::move(done)});
  auto step = running->call.Begin();
  ExecuteStep(std::move(running), std::move(step));
}

template <class Call>
void SlotStore::ExecuteStep(std::unique_ptr<Running<Call>> running, typename Call::Step step) {
  std::visit([&](auto& part) { SendStep(std::move(running), part); }, step);
}

template <class Call, class Part>
void SlotStore::SendStep(std::unique_ptr<Running<Call>> running, Part& part) {
  const Deadline deadline = running->deadline;
  Call& call = running->call;
  if constexpr (std::is_same_v<Part, dynamo::QueryRequest>) {
    table_.Query(part, deadline, [this, &call, running = std::move(running)](auto page) mutable {
      if (!page) return running->done(Fail(std::move(page.error())));
      this->ExecuteStep(std::move(running), call.OnQuery(*std::move(page)));
    });
  } else if constexpr (std::is_same_v<Part, Reads>) {
    table_.BatchGet(std::move(part), deadline,
                    [this, &call, running = std::move(running)](auto items) mutable {
                      if (!items) return running->done(Fail(std::move(items.error())));
                      this->ExecuteStep(std::move(running), call.OnRead(*items));
                    });
  } else if constexpr (std::is_same_v<Part, Transaction>) {
    // `running` is moved into the second lambda. No transaction is made after this lambda has run,
    // so `timed` stays valid.
    const Running<Call>& timed = *running;
    const nanoseconds longest_try = part.is_dated ? options_.skew : nanoseconds::max();
    table_.TransactPatiently(
        [this, &timed, make = std::move(part.make)]() -> dynamo::Transaction {
          Writes writes = make(timed.Now(clock_));
          std::string token = TokenOf(writes);
          return {std::move(writes), std::move(token)};
        },
        longest_try, deadline,
        [this, &call, running = std::move(running)](const auto& outcome) mutable {
          const UnixMillis now = running->Now(clock_);
          this->ExecuteStep(std::move(running), call.OnWrite(outcome, now));
        });
  } else {
    running->done(std::move(part));
  }
}

// DynamoDB applies transactions with the same token once. The token is derived from the writes, so
// that transactions with the same token make the same writes; from the number of earlier
// transactions, so that the same writes can be made again later; and from the seed, so that the
// same writes of another process, for example another release of the same slot, are not taken for a
// repetition.
std::string SlotStore::TokenOf(const Writes& writes) {
  const std::string text = fmt::format("{:016x} {}", options_.seed, TextOf(writes));
  const std::uint64_t before = transactions_.fetch_add(1, std::memory_order_relaxed);
  return fmt::format("{:016x}{:016x}", HashBytes(text, before), HashBytes(text, ~before));
}

void SlotStore::Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
                      Done<ClaimResult> done) {
  if (const Status valid = CheckOurs(claim); !valid) return done(Fail(valid.error()));
  StartCall(ClaimCall(claim, now, options_), now, deadline, std::move(done));
}

void SlotStore::Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl,
                     UnixMillis now, Deadline deadline, Done<HeldSlot> done) {
  SlotMove move{.slot = slot, .resource_id = resource_id, .ttl = ttl};
  if (const Status valid = CheckMove(move); !valid) return done(Fail(valid.error()));
  StartCall(UpdateSlotCall(std::move(move), now), now, deadline, std::move(done));
}

void SlotStore::Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
                      Done<HeldSlot> done) {
  SlotMove move{.slot = slot, .resource_id = std::nullopt, .ttl = ttl};
  if (const Status valid = CheckMove(move); !valid) return done(Fail(valid.error()));
  StartCall(UpdateSlotCall(std::move(move), now), now, deadline, std::move(done));
}

void SlotStore::Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) {
  if (const Status valid = Check(slot); !valid) return done(Fail(valid.error()));
  StartCall(ReleaseCall({.place = SlotKey(slot), .key = slot.key}, now), now, deadline,
            std::move(done));
}

void SlotStore::ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                               Done<bool> done) {
  if (const Status valid = Check(slot); !valid) return done(Fail(valid.error()));
  const ReleaseFence unbound{.resource_id = slot.id, .claimed_until = UnixMillis{INT64_MAX}};
  StartCall(ReleaseCall({.place = SlotKey(slot), .key = slot.key, .fence = unbound}, now), now,
            deadline, std::move(done));
}

void SlotStore::ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                                Done<std::size_t> done) {
  if (const Status valid = CheckResourceId(ended.resource_id); !valid) {
    return done(Fail(valid.error()));
  }
  StartCall(ReleaseResourceCall(ended, resource_index_, now), now, deadline, std::move(done));
}

void SlotStore::List(const AccountKey& key, const PageRequest& page, UnixMillis now,
                     Deadline deadline, Done<Page<HeldSlot>> done) {
  const Result<std::string> after = CheckList(key, page);
  if (!after) return done(Fail(after.error()));
  dynamo::PagedQuery<HeldSlot> query;
  query.request.partition = Coordinate(key.resource, key.account);
  query.limit = page.limit;
  query.read = [key, now](const dynamo::Item& item) { return ReadHeld(item, key, now); };
  query.cursor = [key](const HeldSlot& last) { return SlotCursor(key, last.id); };
  if (!after->empty()) {
    query.request.start_after = ToItem(SlotKey({key, *after}), table_.layout().keys);
  }
  dynamo::ReadPage(table_, std::move(query), deadline, std::move(done));
}

}  // namespace weir::rate_limiter_py
