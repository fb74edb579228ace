#include "weir/events/event_release_plan.h"

#include <algorithm>

namespace weir {
namespace {

// Returns whether another try may succeed after this error.
bool IsRetryable(Code code) {
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
  if (open_tickets_ >= options_.max_pending && !GiveUpOldest()) {
    ++stats_.refused;
    return Fail(Code::kResourceExhausted, "too many events wait for the store; try again later");
  }
  const Ticket ticket = ++last_ticket_;
  ++open_tickets_;
  const auto entry =
      pending_
          .emplace(ticket, Pending{.ended = std::move(ended),
                                   .backoff = {options_.first_backoff, options_.longest_backoff}})
          .first;
  WaitUntil(entry, now);
  return ticket;
}

// An end whose request is in flight is not given up: OnResult still needs its entry.
bool EventReleasePlan::GiveUpOldest() {
  const auto is_idle = [this](Ticket ticket) { return !pending_.at(ticket).in_flight; };
  const auto oldest = std::ranges::find_if(settled_, is_idle);
  if (oldest == settled_.end()) return false;
  EndUnreleased(pending_.find(*oldest), UnreleasedResource::Why::kGivenUp);
  return true;
}

EventReleasePlan::Step EventReleasePlan::OnWake(Instant now) { return FinishStep(now); }

EventReleasePlan::Step EventReleasePlan::OnResult(Ticket ticket, const Result<std::size_t>& result,
                                                  Instant now) {
  const Entry entry = pending_.find(ticket);
  entry->second.in_flight = false;
  --in_flight_;
  if (!result) {
    OnFailure(entry, result.error(), now);
  } else if (*result > 0) {
    OnReleased(entry, *result, now);
  } else {
    OnNoSlots(entry, now);
  }
  return FinishStep(now);
}

// The request is repeated while a wait is left, because another slot may be bound a moment later.
void EventReleasePlan::OnReleased(Entry entry, std::size_t slots, Instant now) {
  Pending& pending = entry->second;
  if (!std::exchange(pending.released, true)) {
    ++stats_.released;
    ++released_;
  }
  stats_.slots += slots;
  step_.released.push_back({pending.ended, slots});
  ReportSettled(entry, {});
  MarkReleased(entry);
  pending.failures = 0;
  pending.backoff.Reset();
  settled_ticket_by_resource_.try_emplace(pending.ended.resource_id, entry->first);
  if (!ScheduleRepeat(entry, now)) RemoveEnd(entry, {});
}

// An undated slot that is bound to the resource after this release may belong to a later resource
// of the same name. An end that is later than the requested one may be the end of that later
// resource, so its requests do not spare undated slots.
void EventReleasePlan::MarkReleased(Entry entry) {
  const UnixMillis requested_end = entry->second.requested_end;
  const auto mark = [requested_end](Pending& pending) {
    if (pending.ended.ended_at > requested_end) return;
    pending.released_for_this_end = true;
    pending.ended.spares_undated = true;
  };
  mark(entry->second);
  const auto other = settled_ticket_by_resource_.find(entry->second.ended.resource_id);
  if (other != settled_ticket_by_resource_.end()) mark(pending_.at(other->second));
}

void EventReleasePlan::ApplyKnownRelease(EndedResource& ended) const {
  const auto at = settled_ticket_by_resource_.find(ended.resource_id);
  if (at == settled_ticket_by_resource_.end()) return;
  const EndedResource& known = pending_.at(at->second).ended;
  if (known.spares_undated && ended.ended_at <= known.ended_at) ended.spares_undated = true;
}

bool EventReleasePlan::ScheduleRepeat(Entry entry, Instant now) {
  if (entry->second.retries == options_.retry_waits.size()) return false;
  WaitUntil(entry, now + options_.retry_waits[entry->second.retries++]);
  return true;
}

void EventReleasePlan::OnNoSlots(Entry entry, Instant now) {
  ReportSettled(entry, {});
  Pending& pending = entry->second;
  pending.failures = 0;
  pending.backoff.Reset();
  if (pending.released_for_this_end) {
    if (!pending.released) ++stats_.repeated;  // a request for another copy of the end released
    return RemoveEnd(entry, {});
  }
  if (JoinEarlier(entry, now)) return;
  if (!ScheduleRepeat(entry, now)) EndUnreleased(entry, UnreleasedResource::Why::kUnknown);
}

// After joining, the earlier end represents both, and both are over at the same time. The source
// keeps this event until then.
bool EventReleasePlan::JoinEarlier(Entry entry, Instant now) {
  const auto [at, is_first] =
      settled_ticket_by_resource_.try_emplace(entry->second.ended.resource_id, entry->first);
  if (is_first || at->second == entry->first) return false;
  const Entry earlier = pending_.find(at->second);
  if (entry->second.ended.ended_at > earlier->second.ended.ended_at) {
    RestartFor(earlier, entry->second.ended, now);
  }
  ++stats_.repeated;
  earlier->second.joined.push_back(entry->first);
  settled_.erase(entry->first);
  pending_.erase(entry);
  return true;
}

// The requests for the later end also release the slots of the earlier ends, so the earlier tickets
// are over at once. Otherwise a resource that ends again and again would keep them for ever.
void EventReleasePlan::RestartFor(Entry entry, const EndedResource& later, Instant now) {
  ReportOver(entry, {});
  Pending& pending = entry->second;
  pending.ended = later;
  pending.released_for_this_end = false;
  pending.retries = 0;
  pending.failures = 0;
  pending.backoff.Reset();
  if (pending.in_flight) return;
  DueOf(pending).erase({pending.due, entry->first});
  ScheduleRepeat(entry, now);
}

void EventReleasePlan::OnFailure(Entry entry, const Error& error, Instant now) {
  Pending& pending = entry->second;
  if (!IsRetryable(error.code) || ++pending.failures >= options_.max_tries) {
    // To the source, kInvalidArgument means that the text is not an event. Here it is an error of
    // the store.
    const bool is_invalid = error.code == Code::kInvalidArgument;
    const Error reported{is_invalid ? Code::kFailedPrecondition : error.code, error.message};
    ReportSettled(entry, Fail(reported));
    return EndUnreleased(entry, UnreleasedResource::Why::kFailed, reported);
  }
  const nanoseconds pause = pending.backoff.Next(rng_);
  WaitUntil(entry, now + std::max<nanoseconds>(pause, error.retry_after.value_or(milliseconds(0))));
}

void EventReleasePlan::WaitUntil(Entry entry, Instant due) {
  entry->second.due = due;
  DueOf(entry->second).emplace(due, entry->first);
}

// REQUIRES: the ticket is in neither set of due tickets. The flag `settled` selects the set, so
// setting it would leave the ticket in the wrong one.
void EventReleasePlan::ReportSettled(Entry entry, Status status) {
  if (std::exchange(entry->second.settled, true)) return;
  settled_.insert(entry->first);
  step_.settled.push_back({entry->first, std::move(status)});
}

void EventReleasePlan::EndUnreleased(Entry entry, UnreleasedResource::Why why,
                                     std::optional<Error> error) {
  using enum UnreleasedResource::Why;
  Status status;
  if (why == kGivenUp) status = Fail(Code::kResourceExhausted, "too many ends are pending");
  if (error) status = Fail(*error);
  if (!entry->second.released) {
    ++(why == kUnknown ? stats_.unknown : why == kGivenUp ? stats_.given_up : stats_.failed);
    step_.unreleased.push_back({why, entry->second.ended, std::move(error)});
  }
  RemoveEnd(entry, status);
}

void EventReleasePlan::RemoveEnd(Entry entry, const Status& status) {
  Pending& pending = entry->second;
  const auto at = settled_ticket_by_resource_.find(pending.ended.resource_id);
  if (at != settled_ticket_by_resource_.end() && at->second == entry->first)
    settled_ticket_by_resource_.erase(at);
  DueOf(pending).erase({pending.due, entry->first});
  settled_.erase(entry->first);
  if (pending.released) --released_;
  ReportOver(entry, status);
  pending_.erase(entry);
}

void EventReleasePlan::ReportOver(Entry entry, const Status& status) {
  std::vector<Ticket> tickets = std::exchange(entry->second.joined, {});
  if (!std::exchange(entry->second.own_ticket_over, true))
    tickets.insert(tickets.begin(), entry->first);
  for (const Ticket ticket : tickets) step_.over.push_back({ticket, status});
  open_tickets_ -= tickets.size();
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

EventReleasePlan::Step EventReleasePlan::FinishStep(Instant now) {
  const auto has_room = [this] { return in_flight_ < options_.max_in_flight; };
  while (has_room()) {
    DueTickets* const tickets = NextDue(now);
    if (tickets == nullptr) break;
    const Entry entry = pending_.find(tickets->begin()->second);
    tickets->erase(tickets->begin());
    entry->second.in_flight = true;
    entry->second.requested_end = entry->second.ended.ended_at;
    ApplyKnownRelease(entry->second.ended);
    ++in_flight_;
    step_.asks.push_back({entry->first, entry->second.ended});
  }
  if (has_room()) step_.wake = NextWake();  // otherwise the next result makes the next step
  return std::exchange(step_, {});
}

ReleaseStats EventReleasePlan::stats() const {
  ReleaseStats stats = stats_;
  stats.pending = pending_.size() - released_;
  return stats;
}

}  // namespace weir
