// When to ask the store to release what ended, without I/O: what ended and answers go in; requests,
// results and the next wake-up come out. Mechanism: docs/design/events.md.
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
#include "weir/store/reservation_store.h"

namespace weir {

struct ReleaseOptions {
  /// The store is asked again so long after each answer, until one that follows a release finds
  /// nothing: what finds slots by their resource may be late, and clients of rate-limiter-py bind
  /// what has ended.
  std::vector<milliseconds> ask_again{milliseconds(1'000), milliseconds(5'000),
                                      milliseconds(30'000), milliseconds(120'000)};
  std::size_t most_pending = 10'000;  ///< ends that are not over; positive
  std::size_t most_in_flight = 16;    ///< requests; positive
  std::uint32_t most_tries = 5;       ///< of one request; positive
  nanoseconds first_backoff = milliseconds(100);
  nanoseconds longest_backoff = std::chrono::seconds(2);  ///< REQUIRES: >= first_backoff > 0
};

/// Resources that were taken. taken = released + unknown + repeated + given_up + failed + refused +
/// pending.
struct ReleaseStats {
  std::uint64_t taken = 0;
  std::uint64_t released = 0;  ///< with one slot or more
  std::uint64_t slots = 0;     ///< of these
  std::uint64_t unknown = 0;   ///< nothing was bound to them, whenever the store was asked
  std::uint64_t repeated = 0;  ///< taken while the same one was to be asked for again
  std::uint64_t given_up = 0;  ///< not asked for as often as wanted, for want of room
  std::uint64_t failed = 0;    ///< the store did not answer
  std::uint64_t refused = 0;   ///< for want of room, before the store was asked
  std::size_t pending = 0;     ///< now, without those of which slots were released
};

/// Of one answer of the store.
struct ReleasedResource {
  EndedResource ended;
  std::size_t slots = 0;  ///< more than 0
};

/// What became of a resource of which no slot was released.
struct UnreleasedResource {
  enum class Why { kUnknown, kGivenUp, kFailed };
  Why why;
  EndedResource ended;
  std::optional<Error> error{};  ///< of kFailed: the store's last one
};

/// A value; not thread-safe.
class EventReleasePlan {
 public:
  /// Names one resource that was taken. 0 is never used.
  using Ticket = std::uint64_t;

  struct Ask {
    Ticket ticket = 0;
    EndedResource ended;
  };
  /// The first good answer is there: slots are released, or the store remembers the end.
  struct Settled {
    Ticket ticket = 0;
    Status status;
  };
  struct Step {
    std::vector<Ask> asks;  ///< ReleaseResource; each is answered by OnAnswer
    std::vector<Settled> settled;
    /// Not asked for any more; the last that is said of each. An error: not as often as wanted.
    std::vector<Settled> over;
    std::vector<ReleasedResource> released;
    std::vector<UnreleasedResource> unreleased;
    std::optional<Instant> wake;  ///< call OnWake then, at the latest
  };

  EventReleasePlan(ReleaseOptions options, std::uint64_t seed);

  /// To be asked for by the next step; begin it with OnWake. Where there is no room, the one that
  /// was settled first is given up; kResourceExhausted where all of them wait for a first answer.
  Result<Ticket> Take(EndedResource ended, Instant now);
  Step OnWake(Instant now);
  Step OnAnswer(Ticket ticket, const Result<std::size_t>& answer, Instant now);
  ReleaseStats stats() const;

 private:
  struct Pending {
    EndedResource ended;
    Backoff backoff;
    std::uint32_t failures = 0;   // in a row
    std::size_t asked_again = 0;  // how many of the waits have begun
    bool settled = false;
    bool released = false;  // a slot or more
    bool is_found = false;  // by the last answer, or the last but one if that one failed
    bool in_flight = false;
    bool told_over = false;        // of its own ticket; it still stands for a later end
    UnixMillis asked_end{};        // of the request in flight
    std::vector<Ticket> joined{};  // it stands for these, too
    Instant due{};                 // unless in flight
  };
  using Place = std::map<Ticket, Pending>::iterator;
  using DueTickets = std::set<std::pair<Instant, Ticket>>;

  bool GiveUpOldest();
  void OnReleased(Place place, std::size_t slots, Instant now);
  void OnNothing(Place place, Instant now);
  void OnFailure(Place place, const Error& error, Instant now);
  bool JoinEarlier(Place place, Instant now);
  void BeginAnew(Place place, const EndedResource& later, Instant now);
  bool WaitsAgain(Place place, Instant now);
  void WaitUntil(Place place, Instant due);
  DueTickets& DueOf(const Pending& pending) { return pending.settled ? due_again_ : due_first_; }
  DueTickets* NextDue(Instant now);
  std::optional<Instant> NextWake() const;
  void SpareUndated(Place place);
  void SpareAsKnown(EndedResource& ended) const;
  void Settle(Place place, Status status);
  void End(Place place, UnreleasedResource::Why why, std::optional<Error> error = {});
  void Forget(Place place, const Status& status);
  void TellOver(Place place, const Status& status);
  Step Go(Instant now);

  ReleaseOptions options_;
  Rng rng_;
  Ticket last_ticket_ = 0;
  std::map<Ticket, Pending> pending_;
  DueTickets due_first_;  // those not in flight that are not settled: they go first
  DueTickets due_again_;
  std::set<Ticket> settled_;
  std::map<std::string, Ticket> settled_ids_;  // one ticket for each resource
  std::size_t in_flight_ = 0;
  std::size_t open_ = 0;      // tickets that are not over
  std::size_t released_ = 0;  // of the pending
  Step step_;                 // as far as it is made
  ReleaseStats stats_;
};

}  // namespace weir
