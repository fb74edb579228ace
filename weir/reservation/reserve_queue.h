// Who asks for a slot, and when. Mechanism: docs/design/reservations.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/reservation/slot_refusals.h"
#include "weir/runtime/backoff.h"

namespace weir {

/// A value without I/O: requests, refusals, releases and `now` go in; who is to ask, whose time is
/// over and when to look again come out. Not thread-safe.
///
/// Of those who wait for slots of one key the one who came first asks: again when a slot comes back
/// here, when the first of the held slots expires, or after a wait with jitter.
class ReserveQueue {
 public:
  /// Ascending in the order of arrival.
  using Id = std::uint64_t;

  /// Those who wait ask again after no less and no more, unless a slot comes back or expires.
  static constexpr milliseconds kShortestWait{250};
  static constexpr milliseconds kLongestWait{2'000};

  struct Options {
    milliseconds full_for;    ///< how long a refusal is believed at most
    std::size_t remembered;   ///< at most so many keys whose refusal is believed
    std::size_t max_waiting;  ///< at most so many wait
    std::uint64_t seed;       ///< of the jitter
  };
  explicit ReserveQueue(const Options& options);

  struct Request {
    Id id = 0;
    AccountKey key;
    std::int64_t limit = 0;
    std::optional<Instant> wait_until{};  ///< Instant{INT64_MAX}: for ever
  };
  /// What those are told who get none.
  struct Known {
    std::int64_t in_use = 0;  ///< at least the limit
    Instant retry_at;         ///< later than now
  };
  enum class Verdict {
    kAsk,      ///< ask the store; ends in Refused or Leave
    kWait,     ///< has a place; comes out of Advance
    kRefuse,   ///< is told what is known, and has left
    kTooMany,  ///< wait already; has left
  };
  struct Answer {
    Verdict verdict;
    Known known{};  ///< of kRefuse
  };

  /// A new request. One that does not wait is refused while others wait, and while a refusal of its
  /// key is believed. A limit other than that of the last refusal ends that belief, and the first
  /// of those who wait asks at once.
  Answer Arrive(Request request, Instant now);
  /// The store refused: kWait, or kRefuse for one that does not wait or whose time is over.
  Answer Refused(Id id, const SlotsFull& full, Instant now);
  /// The store did not answer one who waits, or was too busy: true if it keeps its place, and asks
  /// again after a wait with jitter; false if its time is over: it has left.
  bool Postponed(Id id, Instant now);
  /// It got its slot, or its asking ended otherwise: the next one asks at once.
  void Leave(Id id);
  /// A slot of the key came back.
  void Released(const AccountKey& key);

  struct Step {
    std::vector<Id> asks;                       ///< to ask now; each ends in Refused or Leave
    std::vector<std::pair<Id, Known>> expired;  ///< their time is over; they have left
  };
  /// What there is to do at `now`. Who asks does not expire: the answer decides.
  Step Advance(Instant now);
  /// When Advance may have something to do.
  std::optional<Instant> NextWake() const;
  std::size_t waiting() const { return waiting_; }

 private:
  static constexpr Instant kAtOnce{INT64_MIN};

  /// Those who wait for one key. Not empty.
  struct Line {
    std::set<Id> ids;
    std::optional<Id> asking;
    std::optional<Instant> retry_at;  ///< of the first; nothing while one asks
    std::optional<SlotsFull> told;
    Backoff backoff{kShortestWait, kLongestWait - kShortestWait};
  };
  struct Place {
    Request request;
    std::uint64_t stamp = 0;  ///< of the key, when it began to ask
  };
  using Lines = std::map<AccountKey, Line>;
  using Places = std::map<Id, Place>;

  Answer Stand(Request request, const std::optional<SlotRefusals::Belief>& belief, Instant now);
  Lines::iterator Reach(const AccountKey& key, std::int64_t limit);
  void Expire(Instant now, Step& step);
  void RemoveFromLine(Lines::iterator line, Places::iterator place);
  void SetRetry(Lines::iterator line, std::optional<Instant> at);
  Instant NextTry(Line& line, Instant now);
  static Known KnownOf(const Line& line, std::int64_t limit, Instant now);

  const std::size_t max_waiting_;
  Rng rng_;
  SlotRefusals refusals_;
  Places places_;  ///< all that ask or wait
  Lines lines_;
  std::size_t waiting_ = 0;
  std::set<std::pair<Instant, AccountKey>> retries_;  ///< of lines
  std::set<std::pair<Instant, Id>> ends_;             ///< of those who wait and do not ask
};

}  // namespace weir
