// Frees slots when events tell that their resources have ended. Mechanism: docs/design/events.md.
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
#include "weir/store/reservation_backend.h"
#include "weir/telemetry/log.h"

namespace weir {

struct EventReleaserOptions {
  /// A place that Weir's clients have to themselves is asked once: they heed what it remembers.
  ReleaseOptions release;
  milliseconds remember{3'600'000};  ///< EndedResource::remember_until, from when it was taken
  milliseconds call_timeout{3'000};  ///< of one request to the store
  std::uint64_t seed = 0;            ///< of the waits between tries
  /// Is told of resources that were not released. On the scheduler's thread; may be empty.
  std::function<void(const UnreleasedResource&)> unreleased{};
  /// Gets what was released and what was not (docs/design/log.md); must outlive the releaser.
  Log* log = nullptr;
};

struct EventReleaserStats {
  std::uint64_t seen = 0;     ///< texts that were taken
  std::uint64_t bad = 0;      ///< of these, no events, or with an id that no store takes
  std::uint64_t matched = 0;  ///< of these, events that say that a resource has ended
  ReleaseStats release;
};

/// Thread-safe. The same event again, and events in any order, do no harm: the time of the event
/// alone decides which slots a release may reach (EndedResource), so no list of events is kept.
/// Slots are stamped by the time of their backend: if an event is x old by the wall clock, its
/// resource ended x before ReservationBackend::Now.
class EventReleaser {
 public:
  /// Backend and scheduler must outlive it and its calls in flight.
  EventReleaser(EventRules rules, ReservationBackend& backend, Scheduler& scheduler,
                EventReleaserOptions options);
  /// Events that are not settled are answered kCancelled: now, or, if one of their tasks runs on
  /// the scheduler's thread, after that. Those that are settled and not over are not told.
  ~EventReleaser();
  EventReleaser(const EventReleaser&) = delete;
  EventReleaser& operator=(const EventReleaser&) = delete;

  /// `sent`: when the source got the event; nothing: now. What the event tells happened before.
  /// It is settled before Take returns, or later on the scheduler's thread. Errors:
  /// kInvalidArgument as MatchEvent, kResourceExhausted while too many wait, and those of the store
  /// once it was asked as often as the options say. That takes at most about most_tries *
  /// (call_timeout + longest_backoff); the event is over after the sum of `ask_again`, and that
  /// time for each.
  void Take(std::string_view event, std::optional<UnixMillis> sent, EventProgress progress);

  EventReleaserStats stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir
