// Releases slots when events report that their resources have ended. Mechanism:
// docs/design/events.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "weir/events/event_progress.h"
#include "weir/events/event_release_plan.h"
#include "weir/events/event_rules.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/reservation/reservation_backend.h"
#include "weir/telemetry/log.h"

namespace weir {

struct EventReleaserOptions {
  /// `retry_waits` is not used if only Weir's clients use the backend: their bindings check the
  /// ends that the store remembers, so one request is enough.
  ReleaseOptions release;
  milliseconds remember{3'600'000};  ///< from taking an event to EndedResource::remember_until
  milliseconds call_timeout{3'000};  ///< the timeout of one request to the store
  std::uint64_t seed = 0;            ///< the seed of the waits between tries
  /// Receives resources that were not released. Called on the scheduler's thread; may be empty.
  std::function<void(const UnreleasedResource&)> unreleased{};
  /// Receives an event for each release, each resource without one, and the first event that lacks
  /// the id of a rule (docs/design/log.md). Must outlive the releaser. May be null.
  Log* log = nullptr;
};

struct EventReleaserStats {
  std::uint64_t seen = 0;     ///< texts that were taken
  std::uint64_t bad = 0;      ///< texts that are not events, or whose id no store accepts
  std::uint64_t matched = 0;  ///< events that report that a resource has ended
  /// Events to which no rule applies because there is no id at the rule's path (EventMatch).
  std::uint64_t without_id = 0;
  ReleaseStats release;
};

/// Matches events with rules and releases the slots of ended resources. Thread-safe.
///
/// Repeated events and events in any order do no harm: the time of the event alone decides which
/// slots a release may affect (EndedResource), so no list of events is kept. Slots have the time of
/// their backend: if an event is x old by the wall clock, its resource ended x before
/// ReservationBackend::Now.
class EventReleaser {
 public:
  /// The backend and the scheduler must outlive the releaser and its calls in flight.
  EventReleaser(EventRules rules, ReservationBackend& backend, Scheduler& scheduler,
                EventReleaserOptions options);
  /// Events that are not settled complete with kCancelled, now or, if one of the releaser's tasks
  /// runs on the scheduler's thread, after this task. For events that are settled and not over,
  /// `over` is not called.
  ~EventReleaser();
  EventReleaser(const EventReleaser&) = delete;
  EventReleaser& operator=(const EventReleaser&) = delete;

  /// Handles one event. `sent` is the time at which the source got the event, by default now; the
  /// resource ended no later. The event is settled before Take returns, or later on the scheduler's
  /// thread.
  ///
  /// Errors of `progress.settled`: kInvalidArgument as MatchEvent, kResourceExhausted if too many
  /// ends are pending, kCancelled as the destructor, or the store's last error after max_tries
  /// tries. The tries take at most about max_tries * (call_timeout + longest_backoff). The event
  /// is over after the sum of `retry_waits`, plus this time for each of its requests.
  void Take(std::string_view event, std::optional<UnixMillis> sent, EventProgress progress);

  EventReleaserStats stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir
