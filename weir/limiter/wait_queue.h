// The queues of the requests that wait for tokens: a state machine without I/O. Mechanism:
// docs/design/waiting.md.
//
// States of a waiter:
//
//   state            event                                         next state
//   (new)            AddWaiter                                     behind, or timed if it is a head
//   behind a head    it becomes the head                           ready
//   timed (a head    retry_at has come; Wake                       ready
//     with retry_at)
//   timed, ready     an earlier waiter enters the queue            behind
//   ready            Advance; another of its buckets has an        behind, in that queue
//                      earlier waiter
//   ready            Advance                                       trying (Step::tries)
//   trying           OnRefused                                     timed, or behind
//   trying           RemoveWaiter                                  (gone)
//   behind, timed    Advance, `until` has come                     (gone; Step::expired)
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weir/base/time.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// Orders waiting requests: first come, first served on each bucket. Its inputs are results of the
/// store and `now`; its outputs are the waiters that are to try, the waiters that have expired, and
/// the time of the next call. Not thread-safe.
///
/// Each waiter is in the queue of one bucket, the one that refused it, in the order of arrival.
/// Only the head of a queue tries, and not before the instant that its last refusal named. A head
/// that also charges another bucket, for which an earlier waiter waits, moves to that queue
/// instead.
class WaitQueue {
 public:
  /// Ids ascend in the order of arrival.
  using Id = std::uint64_t;

  struct Waiter {
    Id id = 0;
    Instant until;                   ///< Instant{INT64_MAX}: never expires
    std::vector<TargetPtr> buckets;  ///< all buckets that it charges
  };

  /// Returns true if a waiter that arrived before `id` waits for this bucket.
  bool HasEarlier(const Target& bucket, Id id) const;
  /// Returns the time at which the head of this queue tries again. Returns nullopt if the queue is
  /// empty, or if its head may try now or is trying.
  std::optional<Instant> HeadRetry(const Target& bucket) const;

  /// Adds a new waiter to a queue. `retry_at` is the time at which it may try, if a try of its own
  /// was just refused; if it is not set, the waiter tries when it is the head. REQUIRES: the id is
  /// new.
  void AddWaiter(Waiter waiter, const TargetPtr& bucket, std::optional<Instant> retry_at);
  /// Queues a waiter for `bucket` after its try was refused. `buckets` are all buckets that it
  /// charges now. REQUIRES: the waiter is trying.
  void OnRefused(Id id, std::vector<TargetPtr> buckets, const TargetPtr& bucket, Instant retry_at);
  /// Removes the waiter. If it was a head, the next waiter becomes ready.
  void RemoveWaiter(Id id);

  /// Makes the head of this queue ready before its instant, because tokens were returned.
  void Wake(const Target& bucket);
  /// Makes the heads of all queues ready.
  void WakeAll();

  struct Step {
    std::vector<Id>
        tries;  ///< must try now, in order of arrival; call OnRefused or RemoveWaiter for each
    std::vector<Id> expired;  ///< their time is over; they have been removed
  };
  /// Returns the work at `now`. A waiter that is trying does not expire.
  Step Advance(Instant now);

  /// Returns whether Advance has work at any time.
  bool due() const { return !ready_.empty(); }
  /// Returns the next time at which Advance may have work; nullopt if there is none.
  std::optional<Instant> NextWake() const;

  std::size_t size() const { return waiters_.size(); }
  void Clear() { *this = WaitQueue(); }

 private:
  struct Entry {
    Waiter waiter;
    TargetPtr bucket;                 ///< the bucket whose queue it is in
    std::optional<Instant> retry_at;  ///< set for a head that waits for its instant
    bool trying = false;
  };
  using BucketQueue = std::set<Id>;
  using Timers = std::set<std::pair<Instant, Id>>;

  /// Returns the queue of the bucket, or null if no request waits for it.
  const BucketQueue* QueueOf(const Target& bucket) const;
  /// Adds the waiter to the queue. If it becomes the head, the previous head waits behind it.
  void Insert(Entry& entry, const TargetPtr& bucket, std::optional<Instant> retry_at);
  /// Removes the waiter from its queue; if it was the head, wakes the next one.
  void Remove(Entry& entry);
  /// Sets retry_at and keeps retries_ consistent.
  void SetRetry(Entry& entry, std::optional<Instant> retry_at);
  /// Makes the head of the queue ready unless it is trying.
  void WakeHead(const BucketQueue& queue);
  /// Makes the heads ready whose retry_at has come.
  void WakeDueHeads(Instant now);
  /// Removes the waiters whose time is over and which are not ready.
  void Expire(Instant now, Step& step);
  /// Moves ready heads to queues of their other buckets in which earlier waiters are.
  void MoveBehindEarlier();
  /// Returns a bucket of the waiter for which an earlier waiter waits, or null.
  TargetPtr EarlierElsewhere(const Entry& entry) const;

  std::unordered_map<Id, Entry> waiters_;
  std::unordered_map<TargetPtr, BucketQueue, TargetHash, TargetEqual> queues_;  ///< none is empty
  std::set<Id> ready_;  ///< heads that are not trying and do not wait for an instant
  Timers retries_;      ///< retry_at of heads
  Timers ends_;         ///< `until` of the waiters that are not trying
};

}  // namespace weir
