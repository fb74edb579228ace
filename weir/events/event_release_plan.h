// Decides when to request the release of ended resources from the store: a state machine without
// I/O. Its inputs are ends and results; its outputs are requests, reports and the time of the next
// call. Mechanism: docs/design/events.md.
//
//   Take --> due_first_ --> in flight --> OnResult, one of
//
//     slots were released      settled; due_again_ after the next wait of retry_waits,
//                              or over if no wait is left
//     no slots                 settled; joins an earlier end of the resource that is settled;
//                              else due_again_, or over if no wait is left
//     no slots, and            settled and over: an earlier request for this end, or for a copy
//       released_for_this_end    of it, has released slots
//     an error that may pass   due_first_ or due_again_ after a backoff
//     another error, or        settled if it was not, and over, with the error
//       max_tries errors
//
//   due_again_ --> in flight --> OnResult, as above
//   due_again_, too many ends are pending --> given up: over, with an error
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/runtime/backoff.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir {

struct ReleaseOptions {
  /// The request is repeated after each of these waits, counted from the last result, until a
  /// request after a release finds no slot. The index by which the store finds slots may be late,
  /// and clients of rate-limiter-py bind slots to ended resources.
  std::vector<milliseconds> retry_waits{milliseconds(1'000), milliseconds(5'000),
                                        milliseconds(30'000), milliseconds(120'000)};
  std::size_t max_pending = 10'000;  ///< ends that are not over; positive
  std::size_t max_in_flight = 16;    ///< requests; positive
  std::uint32_t max_tries = 5;       ///< the maximum number of tries of one request; positive
  nanoseconds first_backoff = milliseconds(100);
  nanoseconds longest_backoff = std::chrono::seconds(2);  ///< REQUIRES: >= first_backoff > 0
};

/// Ends of resources that were taken. taken = released + unknown + repeated + given_up + failed +
/// refused + pending.
struct ReleaseStats {
  std::uint64_t taken = 0;
  std::uint64_t released = 0;  ///< at least one slot was released
  std::uint64_t slots = 0;     ///< number of released slots
  std::uint64_t unknown = 0;   ///< no request found a slot
  std::uint64_t repeated = 0;  ///< taken while an end of the same resource was pending
  std::uint64_t given_up = 0;  ///< repeated requests were left out: too many ends are pending
  std::uint64_t failed = 0;    ///< a request failed for good
  std::uint64_t refused = 0;   ///< refused by Take, because too many are pending
  std::size_t pending = 0;     ///< now, without those for which slots were released
};

/// The release that one result of the store reported.
struct ReleasedResource {
  EndedResource ended;
  std::size_t slots = 0;  ///< more than 0
};

/// The outcome of an end for which no slot was released.
struct UnreleasedResource {
  enum class Why { kUnknown, kGivenUp, kFailed };
  Why why;
  EndedResource ended;
  std::optional<Error> error{};  ///< for kFailed: the store's last error
};

/// Not thread-safe.
class EventReleasePlan {
 public:
  /// Identifies one end that was taken. 0 is never used.
  using Ticket = std::uint64_t;

  struct Ask {
    Ticket ticket = 0;
    EndedResource ended;
  };
  /// The status of an end, in Step::settled or Step::over.
  struct Settled {
    Ticket ticket = 0;
    Status status;
  };
  struct Step {
    std::vector<Ask> asks;  ///< call ReleaseResource, then OnResult for each
    /// Ends with their first successful result (slots are released, or the store remembers the end)
    /// or with an error that is not retried.
    std::vector<Settled> settled;
    /// Ends for which no request follows; the last report of each. An error: a request failed for
    /// good, or not all repeated requests were made.
    std::vector<Settled> over;
    std::vector<ReleasedResource> released;
    std::vector<UnreleasedResource> unreleased;
    std::optional<Instant> wake;  ///< call OnWake at this time at the latest
  };

  EventReleasePlan(ReleaseOptions options, std::uint64_t seed);

  /// Adds an end; call OnWake at once, for its request. If max_pending ends are pending, the oldest
  /// settled end whose request is not in flight is given up. Fails with kResourceExhausted if there
  /// is no such end.
  Result<Ticket> Take(EndedResource ended, Instant now);
  Step OnWake(Instant now);
  /// Takes the result of a request: the number of released slots.
  Step OnResult(Ticket ticket, const Result<std::size_t>& result, Instant now);
  ReleaseStats stats() const;

 private:
  struct Pending {
    EndedResource ended;
    Backoff backoff;
    std::uint32_t failures = 0;  // consecutive
    std::size_t retries = 0;     // number of waits of retry_waits that have begun
    bool settled = false;
    bool released = false;  // at least one slot was released
    // A request for this end, or for a copy of it, has released slots. The next result without
    // slots is the last.
    bool released_for_this_end = false;
    bool in_flight = false;
    bool own_ticket_over = false;  // its own ticket is over; it continues for a later end
    UnixMillis requested_end{};    // `ended_at` of the request in flight
    std::vector<Ticket> joined{};  // later tickets of the same resource that it also represents
    Instant due{};                 // not used while in flight
  };
  using Entry = std::map<Ticket, Pending>::iterator;
  using DueTickets = std::set<std::pair<Instant, Ticket>>;

  /// Gives up the oldest settled end that is not in flight. Returns false if there is none.
  bool GiveUpOldest();
  /// Takes a result with slots.
  void OnReleased(Entry entry, std::size_t slots, Instant now);
  /// Takes a result without slots.
  void OnNoSlots(Entry entry, Instant now);
  /// Takes an error: schedules another try, or reports the end as settled and over.
  void OnFailure(Entry entry, const Error& error, Instant now);
  /// Joins the end to the settled end of the same resource. If there is none, later ends join this
  /// one, and false is returned.
  bool JoinEarlier(Entry entry, Instant now);
  /// Restarts the waits of an end for a later end of the same resource.
  void RestartFor(Entry entry, const EndedResource& later, Instant now);
  /// Schedules the next repeated request. Returns false if none is left.
  bool ScheduleRepeat(Entry entry, Instant now);
  void WaitUntil(Entry entry, Instant due);
  DueTickets& DueOf(const Pending& pending) { return pending.settled ? due_again_ : due_first_; }
  /// Returns the set whose first ticket is due and goes next, or null.
  DueTickets* NextDue(Instant now);
  std::optional<Instant> NextWake() const;
  /// After a release: later requests for this end and for earlier ones spare undated slots.
  void MarkReleased(Entry entry);
  /// Before a request: spares undated slots if a request for this end, or for a later end of the
  /// resource, has released slots.
  void ApplyKnownRelease(EndedResource& ended) const;
  /// Reports the end as settled, once.
  void ReportSettled(Entry entry, Status status);
  /// Reports and removes an end; counts it if no slot was released.
  void EndUnreleased(Entry entry, UnreleasedResource::Why why, std::optional<Error> error = {});
  /// Reports the end and its joined tickets as over, and removes it.
  void RemoveEnd(Entry entry, const Status& status);
  /// Reports the tickets of an end as over, each once.
  void ReportOver(Entry entry, const Status& status);
  /// Adds the due requests to the step and returns it.
  Step FinishStep(Instant now);

  ReleaseOptions options_;
  Rng rng_;
  Ticket last_ticket_ = 0;
  std::map<Ticket, Pending> pending_;
  DueTickets due_first_;  // not settled and not in flight; these go first
  DueTickets due_again_;  // settled and not in flight
  std::set<Ticket> settled_;
  std::map<std::string, Ticket> settled_ticket_by_resource_;
  std::size_t in_flight_ = 0;
  std::size_t open_tickets_ = 0;  // not over
  std::size_t released_ = 0;      // pending ends with a released slot
  Step step_;                     // the step that is being made
  ReleaseStats stats_;
};

}  // namespace weir
