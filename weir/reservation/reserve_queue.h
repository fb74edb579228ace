// The queues of the requests for slots: a state machine without I/O. Mechanism:
// docs/design/reservations.md.
//
//   state                 event                                      next state
//   (new)                 Add: kRefuse, kTooMany                     (gone)
//   (new)                 Add: kAsk, a request that does not wait    asking
//   (new)                 Add: kWait                                 in the queue of its key
//   in queue, the first   Advance, the queue's retry_at has come     asking (Step::asks)
//   in queue, otherwise   Advance, wait_until has come               (gone; Step::expired)
//   asking, does not wait OnRefused, Remove                          (gone)
//   asking, waits         OnRefused, Postpone                        in queue; (gone) if expired
//   asking, waits         Remove                                     (gone); the next asks at once
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

/// Orders the requests for slots. Its inputs are requests, refusals, releases and `now`; its
/// outputs are the requests that are to call the store ("ask"), the requests whose time is over,
/// and the time of the next call. Not thread-safe.
///
/// Of the requests that wait for slots of one key, only the first in the order of arrival asks. It
/// asks again when OnReleased reports a slot, when the first of the held slots expires, or after a
/// wait with jitter.
class ReserveQueue {
 public:
  /// Ids ascend in the order of arrival.
  using Id = std::uint64_t;

  /// Bounds of the wait between two tries of a queue, unless a slot is released or expires.
  static constexpr milliseconds kShortestWait{250};
  static constexpr milliseconds kLongestWait{2'000};

  struct Options {
    milliseconds full_for;    ///< maximum time for which a refusal is cached
    std::size_t remembered;   ///< maximum number of keys whose refusal is cached
    std::size_t max_waiting;  ///< maximum number of waiting requests
    std::uint64_t seed;       ///< the seed of the jitter
  };
  explicit ReserveQueue(const Options& options);

  struct Request {
    Id id = 0;
    AccountKey key;
    std::int64_t limit = 0;
    std::optional<Instant> wait_until{};  ///< Instant{INT64_MAX}: never expires
  };
  /// The known state of a key, for the report of a refusal.
  struct Known {
    std::int64_t in_use = 0;  ///< at least the limit
    Instant retry_at;         ///< later than now
  };
  enum class Verdict {
    kAsk,      ///< call the store; then call OnRefused or Remove: the request does not wait
    kWait,     ///< the request is in a queue; Advance returns it
    kRefuse,   ///< refused with `known`; the request is gone
    kTooMany,  ///< max_waiting requests wait already; the request is gone
  };
  struct Admission {
    Verdict verdict;
    Known known{};  ///< set if the verdict is kRefuse
  };

  /// Adds a new request. A request that does not wait, or whose `wait_until` has come, is refused
  /// while others wait and while a refusal of its key is cached. A request with another limit than
  /// that of the last refusal invalidates the refusal, and the first waiting request asks at once.
  Admission Add(Request request, Instant now);
  /// Reports that the store refused the request. Returns kWait, or kRefuse if the request does not
  /// wait or its time is over.
  Admission OnRefused(Id id, const ClaimRefusal& full, Instant now);
  /// Reports that a try of a waiting request failed with an error that may pass. Returns true if
  /// the request stays the first of its queue and asks again after a wait with jitter. Returns
  /// false if its time is over; it is then gone. REQUIRES: Add returned kWait for the request.
  bool Postpone(Id id, Instant now);
  /// Removes a request that got its slot, failed, or is blocked by a new limit. The next request of
  /// its queue asks at once.
  void Remove(Id id);
  /// Reports that a slot of the key was released.
  void OnReleased(const AccountKey& key);

  struct Step {
    std::vector<Id> asks;  ///< call the store now; then call OnRefused, Postpone or Remove for each
    std::vector<std::pair<Id, Known>> expired;  ///< their time is over; they are gone
  };
  /// Returns the work at `now`. A request that is asking does not expire: its result decides.
  Step Advance(Instant now);
  /// Returns the next time at which Advance may have work; nullopt if there is none.
  std::optional<Instant> NextWake() const;
  std::size_t waiting() const { return waiting_; }

 private:
  static constexpr Instant kAtOnce{INT64_MIN};

  /// The requests that wait for one key. Never empty.
  struct KeyQueue {
    std::set<Id> ids;
    std::optional<Id> asking;  ///< the first request, while it calls the store
    /// The time at which the first request asks; nullopt while it is asking.
    std::optional<Instant> retry_at;
    std::optional<ClaimRefusal> last_refusal;
    Backoff backoff{kShortestWait, kLongestWait - kShortestWait};
  };
  /// One request that is asking or waiting.
  struct Entry {
    Request request;
    std::uint64_t stamp = 0;  ///< SlotRefusals::StampOf of the key when it began to ask
  };
  using KeyQueues = std::map<AccountKey, KeyQueue>;
  using Entries = std::map<Id, Entry>;

  /// Adds a waiting request to the queue of its key; makes the queue if necessary.
  Admission AddWaiter(Request request, const std::optional<SlotRefusals::CachedRefusal>& cached,
                      Instant now);
  /// Returns the queue of the key; its first request asks at once if the last refusal had another
  /// limit.
  KeyQueues::iterator FindQueue(const AccountKey& key, std::int64_t limit);
  /// Removes the requests whose time is over and which are not due to ask.
  void Expire(Instant now, Step& step);
  /// Removes a waiting request, and its queue if it was the last.
  void RemoveFromQueue(KeyQueues::iterator queue, Entries::iterator entry);
  /// Sets retry_at and keeps retries_ consistent.
  void SetRetry(KeyQueues::iterator queue, std::optional<Instant> at);
  /// Returns the time of the next try after a refusal or a failure.
  Instant NextTry(KeyQueue& queue, Instant now);
  static Known KnownOf(const KeyQueue& queue, std::int64_t limit, Instant now);

  const std::size_t max_waiting_;
  Rng rng_;
  SlotRefusals refusals_;
  Entries entries_;  ///< all requests that are asking or waiting
  KeyQueues queues_;
  std::size_t waiting_ = 0;                           ///< requests in queues
  std::set<std::pair<Instant, AccountKey>> retries_;  ///< retry_at of queues
  std::set<std::pair<Instant, Id>> ends_;  ///< wait_until of requests that wait and are not asking
};

}  // namespace weir
