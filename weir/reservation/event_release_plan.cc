#include "weir/reservation/event_release_plan.h"

#include <algorithm>

namespace weir {
namespace {

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
  if (pending_.size() >= options_.most_pending && !GiveUpOldest()) {
    ++stats_.refused;
    return Fail(Code::kResourceExhausted, "too many events wait for the store; ask again later");
  }
  const Ticket ticket = ++last_ticket_;
  const auto place =
      pending_
          .emplace(ticket, Pending{.ended = std::move(ended),
                                   .backoff = {options_.first_backoff, options_.longest_backoff}})
          .first;
  WaitUntil(place, now);
  return ticket;
}

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

// A slot that is bound a moment later is found by one request more.
void EventReleasePlan::OnReleased(Place place, std::size_t slots, Instant now) {
  Pending& pending = place->second;
  if (!std::exchange(pending.released, true)) {
    ++stats_.released;
    ++released_;
  }
  stats_.slots += slots;
  Settle(place, {});
  pending.failures = 0;
  pending.backoff.Reset();
  settled_ids_.try_emplace(pending.ended.resource_id, place->first);
  if (!WaitsAgain(place, now)) Forget(place);
}

// False: it was asked for as often as the options say.
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
  if (pending.released) return Forget(place);
  if (JoinEarlier(place, now)) return;
  if (!WaitsAgain(place, now)) End(place, UnreleasedResource::Why::kUnknown);
}

/// The earlier one then stands for both, and its waits begin anew.
bool EventReleasePlan::JoinEarlier(Place place, Instant now) {
  const auto [at, is_first] =
      settled_ids_.try_emplace(place->second.ended.resource_id, place->first);
  if (is_first || at->second == place->first) return false;
  const Place earlier = pending_.find(at->second);
  EndedResource& ended = earlier->second.ended;
  ended.ended_at = std::max(ended.ended_at, place->second.ended.ended_at);
  ended.remember_until = std::max(ended.remember_until, place->second.ended.remember_until);
  earlier->second.asked_again = 0;
  if (!earlier->second.in_flight) {
    due_.erase({earlier->second.due, earlier->first});
    WaitsAgain(earlier, now);
  }
  ++stats_.repeated;
  Forget(place);
  return true;
}

void EventReleasePlan::OnFailure(Place place, const Error& error, Instant now) {
  Pending& pending = place->second;
  if (!MayHelp(error.code) || ++pending.failures >= options_.most_tries) {
    Settle(place, Fail(error));
    return End(place, UnreleasedResource::Why::kFailed);
  }
  const nanoseconds pause = pending.backoff.Next(rng_);
  WaitUntil(place, now + std::max<nanoseconds>(pause, error.retry_after.value_or(milliseconds(0))));
}

void EventReleasePlan::WaitUntil(Place place, Instant due) {
  place->second.due = due;
  due_.emplace(due, place->first);
}

void EventReleasePlan::Settle(Place place, Status status) {
  if (std::exchange(place->second.settled, true)) return;
  settled_.insert(place->first);
  step_.settled.push_back({place->first, std::move(status)});
}

void EventReleasePlan::End(Place place, UnreleasedResource::Why why) {
  if (place->second.released) return Forget(place);
  using enum UnreleasedResource::Why;
  ++(why == kUnknown ? stats_.unknown : why == kGivenUp ? stats_.given_up : stats_.failed);
  step_.unreleased.push_back({why, place->second.ended});
  Forget(place);
}

void EventReleasePlan::Forget(Place place) {
  const auto id = settled_ids_.find(place->second.ended.resource_id);
  if (id != settled_ids_.end() && id->second == place->first) settled_ids_.erase(id);
  due_.erase({place->second.due, place->first});
  settled_.erase(place->first);
  if (place->second.released) --released_;
  pending_.erase(place);
}

EventReleasePlan::Step EventReleasePlan::Go(Instant now) {
  const auto room = [this] { return in_flight_ < options_.most_in_flight; };
  while (room() && !due_.empty() && due_.begin()->first <= now) {
    const Place place = pending_.find(due_.begin()->second);
    due_.erase(due_.begin());
    place->second.in_flight = true;
    ++in_flight_;
    step_.asks.push_back({place->first, place->second.ended});
  }
  if (room() && !due_.empty()) step_.wake = due_.begin()->first;
  return std::exchange(step_, {});
}

ReleaseStats EventReleasePlan::stats() const {
  ReleaseStats stats = stats_;
  stats.pending = pending_.size() - released_;
  return stats;
}

}  // namespace weir
