#include "weir/events/event_release_plan.h"

#include <algorithm>

namespace weir {
namespace {

// Returns whether another try may succeed after this error.
bool MayHelp(Code code) {
  switch (code) {
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kAborted:
    case Code::kResourceExhausted:
    case Code::kUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

EventReleasePlan::EventReleasePlan(ReleaseOptions options, std::uint64_t seed)
    : options_(std::move(options)), rng_(seed) {}

Result<EventReleasePlan::Ticket> EventReleasePlan::Take(EndedResource ended, Instant now) {
  ++stats_.taken;
  if (open_ >= options_.most_pending && !GiveUpOldest()) {
    ++stats_.refused;
    return Fail(Code::kResourceExhausted, "too many events wait for the store; ask again later");
  }
  const Ticket ticket = ++last_ticket_;
  ++open_;
  const auto place =
      pending_
          .emplace(ticket, Pending{.ended = std::move(ended),
                                   .backoff = {options_.first_backoff, options_.longest_backoff}})
          .first;
  WaitUntil(place, now);
  return ticket;
}

// An end in flight is not given up, because its result is still to come.
bool EventReleasePlan::GiveUpOldest() {
  const auto idle = [this](Ticket ticket) { return !pending_.at(ticket).in_flight; };
  const auto oldest = std::ranges::find_if(settled_, idle);
  if (oldest == settled_.end()) return false;
  End(pending_.find(*oldest), UnreleasedResource::Why::kGivenUp);
  return true;
}

EventReleasePlan::Step EventReleasePlan::OnWake(Instant now) { return Go(now); }

EventReleasePlan::Step EventReleasePlan::OnAnswer(Ticket ticket, const Result<std::size_t>& answer,
                                                  Instant now) {
  const Place place = pending_.find(ticket);
  place->second.in_flight = false;
  --in_flight_;
  if (!answer) {
    OnFailure(place, answer.error(), now);
  } else if (*answer > 0) {
    OnReleased(place, *answer, now);
  } else {
    OnNothing(place, now);
  }
  return Go(now);
}

// At least one more request follows, because another slot may be bound a moment later.
void EventReleasePlan::OnReleased(Place place, std::size_t slots, Instant now) {
  Pending& pending = place->second;
  if (!std::exchange(pending.released, true)) {
    ++stats_.released;
    ++released_;
  }
  stats_.slots += slots;
  step_.released.push_back({pending.ended, slots});
  Settle(place, {});
  SpareUndated(place);
  pending.failures = 0;
  pending.backoff.Reset();
  settled_ids_.try_emplace(pending.ended.resource_id, place->first);
  if (!WaitsAgain(place, now)) Forget(place, {});
}

// An undated slot that is bound to the resource after this release may belong to a later resource
// of the same name. An end that is later than the one requested may be that of the later resource,
// so it does not spare undated slots.
void EventReleasePlan::SpareUndated(Place place) {
  const UnixMillis asked = place->second.asked_end;
  const auto spare = [asked](Pending& pending) {
    if (pending.ended.ended_at > asked) return;
    pending.is_found = true;
    pending.ended.spares_undated = true;
  };
  spare(place->second);
  const auto other = settled_ids_.find(place->second.ended.resource_id);
  if (other != settled_ids_.end()) spare(pending_.at(other->second));
}

void EventReleasePlan::SpareAsKnown(EndedResource& ended) const {
  const auto at = settled_ids_.find(ended.resource_id);
  if (at == settled_ids_.end()) return;
  const EndedResource& known = pending_.at(at->second).ended;
  if (known.spares_undated && ended.ended_at <= known.ended_at) ended.spares_undated = true;
}

bool EventReleasePlan::WaitsAgain(Place place, Instant now) {
  if (place->second.asked_again == options_.ask_again.size()) return false;
  WaitUntil(place, now + options_.ask_again[place->second.asked_again++]);
  return true;
}

void EventReleasePlan::OnNothing(Place place, Instant now) {
  Settle(place, {});
  Pending& pending = place->second;
  pending.failures = 0;
  pending.backoff.Reset();
  if (pending.is_found) {
    if (!pending.released) ++stats_.repeated;  // a request for another copy of the end released
    return Forget(place, {});
  }
  if (JoinEarlier(place, now)) return;
  if (!WaitsAgain(place, now)) End(place, UnreleasedResource::Why::kUnknown);
}

/// The earlier end then represents both, and both are over together. So the source keeps this event
/// until then.
bool EventReleasePlan::JoinEarlier(Place place, Instant now) {
  const auto [at, is_first] =
      settled_ids_.try_emplace(place->second.ended.resource_id, place->first);
  if (is_first || at->second == place->first) return false;
  const Place earlier = pending_.find(at->second);
  if (place->second.ended.ended_at > earlier->second.ended.ended_at) {
    BeginAnew(earlier, place->second.ended, now);
  }
  ++stats_.repeated;
  earlier->second.joined.push_back(place->first);
  settled_.erase(place->first);
  pending_.erase(place);
  return true;
}

// The requests for the later end also release the slots of the earlier ends, so the earlier tickets
// are over at once. Otherwise a resource that ends again and again would keep them for ever.
void EventReleasePlan::BeginAnew(Place place, const EndedResource& later, Instant now) {
  TellOver(place, {});
  Pending& pending = place->second;
  pending.ended = later;
  pending.is_found = false;
  pending.asked_again = 0;
  pending.failures = 0;
  pending.backoff.Reset();
  if (pending.in_flight) return;
  DueOf(pending).erase({pending.due, place->first});
  WaitsAgain(place, now);
}

void EventReleasePlan::OnFailure(Place place, const Error& error, Instant now) {
  Pending& pending = place->second;
  if (!MayHelp(error.code) || ++pending.failures >= options_.most_tries) {
    // To the source, kInvalidArgument means that the text is not an event. Here it is an error of
    // the store.
    const bool is_ours = error.code == Code::kInvalidArgument;
    const Error told{is_ours ? Code::kFailedPrecondition : error.code, error.message};
    Settle(place, Fail(told));
    return End(place, UnreleasedResource::Why::kFailed, told);
  }
  const nanoseconds pause = pending.backoff.Next(rng_);
  WaitUntil(place, now + std::max<nanoseconds>(pause, error.retry_after.value_or(milliseconds(0))));
}

void EventReleasePlan::WaitUntil(Place place, Instant due) {
  place->second.due = due;
  DueOf(place->second).emplace(due, place->first);
}

// REQUIRES: the end is not in a set of due tickets, because `settled` selects the set.
void EventReleasePlan::Settle(Place place, Status status) {
  if (std::exchange(place->second.settled, true)) return;
  settled_.insert(place->first);
  step_.settled.push_back({place->first, std::move(status)});
}

void EventReleasePlan::End(Place place, UnreleasedResource::Why why, std::optional<Error> error) {
  using enum UnreleasedResource::Why;
  Status status;
  if (why == kGivenUp) status = Fail(Code::kResourceExhausted, "too many ends are pending");
  if (error) status = Fail(*error);
  if (!place->second.released) {
    ++(why == kUnknown ? stats_.unknown : why == kGivenUp ? stats_.given_up : stats_.failed);
    step_.unreleased.push_back({why, place->second.ended, std::move(error)});
  }
  Forget(place, status);
}

void EventReleasePlan::Forget(Place place, const Status& status) {
  Pending& pending = place->second;
  const auto id = settled_ids_.find(pending.ended.resource_id);
  if (id != settled_ids_.end() && id->second == place->first) settled_ids_.erase(id);
  DueOf(pending).erase({pending.due, place->first});
  settled_.erase(place->first);
  if (pending.released) --released_;
  TellOver(place, status);
  pending_.erase(place);
}

void EventReleasePlan::TellOver(Place place, const Status& status) {
  std::vector<Ticket> tickets = std::exchange(place->second.joined, {});
  if (!std::exchange(place->second.told_over, true)) tickets.insert(tickets.begin(), place->first);
  for (const Ticket ticket : tickets) step_.over.push_back({ticket, status});
  open_ -= tickets.size();
}

// First requests go before repeated ones.
EventReleasePlan::DueTickets* EventReleasePlan::NextDue(Instant now) {
  for (DueTickets* tickets : {&due_first_, &due_again_}) {
    if (!tickets->empty() && tickets->begin()->first <= now) return tickets;
  }
  return nullptr;
}

std::optional<Instant> EventReleasePlan::NextWake() const {
  std::optional<Instant> wake;
  for (const DueTickets* tickets : {&due_first_, &due_again_}) {
    if (tickets->empty()) continue;
    if (!wake || tickets->begin()->first < *wake) wake = tickets->begin()->first;
  }
  return wake;
}

EventReleasePlan::Step EventReleasePlan::Go(Instant now) {
  const auto room = [this] { return in_flight_ < options_.most_in_flight; };
  while (room()) {
    DueTickets* const tickets = NextDue(now);
    if (tickets == nullptr) break;
    const Place place = pending_.find(tickets->begin()->second);
    tickets->erase(tickets->begin());
    place->second.in_flight = true;
    place->second.asked_end = place->second.ended.ended_at;
    SpareAsKnown(place->second.ended);
    ++in_flight_;
    step_.asks.push_back({place->first, place->second.ended});
  }
  if (room()) step_.wake = NextWake();  // otherwise the next result makes the next step
  return std::exchange(step_, {});
}

ReleaseStats EventReleasePlan::stats() const {
  ReleaseStats stats = stats_;
  stats.pending = pending_.size() - released_;
  return stats;
}

}  // namespace weir
