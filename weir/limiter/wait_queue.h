// Who waits for which bucket, and whose turn it is. Mechanism: docs/design/waiting.md.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weir/base/time.h"
#include "weir/store/charge.h"

namespace weir {

/// The order of those who wait: first come, first served on each bucket. A value without I/O:
/// answers of the store and `now` go in; who is to try, whose time is over and when to look again
/// come out. Not thread-safe.
///
/// Each waiter stands in the queue of one bucket, the one that refused it, ordered by arrival. Only
/// the head of a queue tries, and not before the instant that its last refusal named. A head that
/// charges another bucket too, where somebody who came earlier waits, moves to that queue instead.
class WaitQueue {
 public:
  /// Ascending in the order of arrival.
  using Id = std::uint64_t;

  struct Waiter {
    Id id = 0;
    Instant until;                   ///< Instant{INT64_MAX}: for ever
    std::vector<TargetPtr> buckets;  ///< all that it charges
  };

  /// True if somebody who came before `id` waits for this bucket.
  bool HasEarlier(const Target& bucket, Id id) const;
  /// When the head of this queue tries again; nothing where there is none, or it may try now.
  std::optional<Instant> HeadRetry(const Target& bucket) const;

  /// Puts a new waiter into a queue. `retry_at`: when it may try, where a try of its own was just
  /// refused; unset: when its turn comes. REQUIRES: the id is new.
  void Enter(Waiter waiter, const TargetPtr& bucket, std::optional<Instant> retry_at);
  /// The try of a waiter was refused: it waits on for `bucket`. `buckets`: what it charges now.
  /// REQUIRES: it was told to try.
  void Refused(Id id, std::vector<TargetPtr> buckets, const TargetPtr& bucket, Instant retry_at);
  /// The waiter is gone; the next one's turn comes at once.
  void Leave(Id id);

  /// Tokens came back: the head of this queue need not wait for its instant.
  void Wake(const Target& bucket);
  void WakeAll();

  struct Step {
    std::vector<Id> tries;    ///< to try now, in order of arrival; each answers Refused or Leave
    std::vector<Id> expired;  ///< their time is over; they have left
  };
  /// What there is to do at `now`. One whose try is under way does not expire.
  Step Advance(Instant now);

  /// Whether Advance has something to do whatever the time.
  bool due() const { return !ready_.empty(); }
  /// When Advance may have something to do.
  std::optional<Instant> NextWake() const;

  std::size_t size() const { return waiters_.size(); }
  void Clear() { *this = WaitQueue(); }

 private:
  struct Place {
    Waiter waiter;
    TargetPtr bucket;                 ///< whose queue it stands in
    std::optional<Instant> retry_at;  ///< of a head that waits for its instant
    bool trying = false;
  };
  struct HashTarget {
    std::size_t operator()(const TargetPtr& target) const { return target->hash; }
  };
  struct SameBucket {
    bool operator()(const TargetPtr& a, const TargetPtr& b) const {
      return a == b || (a->hash == b->hash && a->key == b->key);
    }
  };
  using Line = std::set<Id>;
  using Timers = std::set<std::pair<Instant, Id>>;

  const Line* LineOf(const Target& bucket) const;
  void Insert(Place& place, const TargetPtr& bucket, std::optional<Instant> retry_at);
  void Remove(Place& place);
  void SetRetry(Place& place, std::optional<Instant> retry_at);
  void WakeHead(const Line& line);
  void Ring(Instant now);
  void Expire(Instant now, Step& step);
  void MoveBehindEarlier();
  TargetPtr EarlierElsewhere(const Place& place) const;

  std::unordered_map<Id, Place> waiters_;
  std::unordered_map<TargetPtr, Line, HashTarget, SameBucket> lines_;
  std::set<Id> ready_;  ///< heads that neither try nor wait for an instant
  Timers retries_;      ///< of heads
  Timers ends_;         ///< of those who do not try
};

}  // namespace weir
