// The queues of the requests that wait for tokens: a state machine without I/O. Mechanism:
// docs/design/waiting.md.
//
// States of a waiter:
//
//   behind   it is not the head of its queue
//   timed    it is the head, and must not try before its retry_at
//   ready    it is the head, and may try now
//   trying   its try is in flight
//
//   state             event                                       next state
//   (new)             AddWaiter with a retry_at, as the head      timed
//   (new)             AddWaiter without a retry_at, as the head   ready
//   (new)             AddWaiter, not as the head                  behind
//   behind            it becomes the head                         ready
//   timed             Advance at retry_at, Wake, or WakeAll       ready
//   timed or ready    an earlier waiter enters the queue          behind
//   ready             Advance, if an earlier waiter is in the     behind, in that queue
//                       queue of another of its buckets
//   ready             Advance, otherwise                          trying, in Step::tries
//   trying            OnRefused, it is the head                   timed
//   trying            OnRefused, it is not the head               behind
//   behind or timed   Advance at or after `until`                 (removed), in Step::expired
//   any               RemoveWaiter                                (removed)
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
/// Each waiter is in the queue of one bucket, which refused it or for which an earlier waiter
/// waited. A queue is in the order of arrival, and only its head tries. After a refusal, the head
/// waits until the time that the refusal named. It becomes ready earlier if Wake is called, or if
/// it stops being the head and becomes the head again. If an earlier waiter waits for another
/// bucket that the head charges, the head moves to the queue of that bucket instead of trying.
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

  /// Adds a new waiter to a queue. `retry_at`: the time at which the waiter may try again, if its
  /// own try was just refused. This time has an effect only if the waiter is the head now; a waiter
  /// that becomes the head later may try at once. REQUIRES: the id is new.
  void AddWaiter(Waiter waiter, const TargetPtr& bucket, std::optional<Instant> retry_at);
  /// Queues a waiter for `bucket` after its try was refused. `buckets` are all buckets that it
  /// charges now; `retry_at` is as in AddWaiter. REQUIRES: the waiter is trying.
  void OnRefused(Id id, std::vector<TargetPtr> buckets, const TargetPtr& bucket, Instant retry_at);
  /// Removes the waiter. If it was a head, the next waiter becomes ready.
  void RemoveWaiter(Id id);

  /// Makes the head of this queue ready before its retry_at, because tokens were returned. A head
  /// that is trying is left as it is.
  void Wake(const Target& bucket);
  /// Like Wake, for all queues.
  void WakeAll();

  struct Step {
    /// Waiters that are to try now, in order of arrival. Call OnRefused or RemoveWaiter with the
    /// result of each.
    std::vector<Id> tries;
    std::vector<Id> expired;  ///< waiters whose `until` has come; they have been removed
  };
  /// Returns the waiters that try or expire at `now`. A waiter that is trying does not expire.
  Step Advance(Instant now);

  /// Returns true if a head is ready: then Advance has work now, before NextWake.
  bool due() const { return !ready_.empty(); }
  /// Returns the first time at which a retry_at or an `until` is due; nullopt if there is none.
  std::optional<Instant> NextWake() const;

  std::size_t size() const { return waiters_.size(); }
  void Clear() { *this = WaitQueue(); }

 private:
  struct Entry {
    Waiter waiter;
    TargetPtr bucket;                 ///< the bucket whose queue it is in
    std::optional<Instant> retry_at;  ///< set in the state timed only: when it becomes ready
    bool trying = false;
  };
  using BucketQueue = std::set<Id>;
  using Timers = std::set<std::pair<Instant, Id>>;

  /// Returns the queue of the bucket, or null if no request waits for it.
  const BucketQueue* QueueOf(const Target& bucket) const;
  /// Adds the waiter to the queue. If it becomes the head, the previous head loses its retry_at and
  /// is no longer ready.
  void Insert(Entry& entry, const TargetPtr& bucket, std::optional<Instant> retry_at);
  /// Removes the waiter from its queue; if it was the head, wakes the next one.
  void Remove(Entry& entry);
  /// Sets retry_at and keeps retries_ consistent.
  void SetRetry(Entry& entry, std::optional<Instant> retry_at);
  /// Makes the head of the queue ready unless it is trying.
  void WakeHead(const BucketQueue& queue);
  /// Makes the heads ready whose retry_at has come.
  void WakeDueHeads(Instant now);
  /// Removes the waiters whose `until` has come, except those that are ready or trying.
  void Expire(Instant now, Step& step);
  /// Moves ready heads to queues of their other buckets in which earlier waiters are.
  void MoveBehindEarlier();
  /// Returns a bucket of the waiter for which an earlier waiter waits, or null.
  TargetPtr EarlierElsewhere(const Entry& entry) const;

  std::unordered_map<Id, Entry> waiters_;
  std::unordered_map<TargetPtr, BucketQueue, TargetHash, TargetEqual> queues_;  ///< none is empty
  std::set<Id> ready_;  ///< the waiters in the state ready
  Timers retries_;      ///< retry_at of the waiters in the state timed
  Timers ends_;         ///< `until` of the waiters that can expire and are not trying
};

}  // namespace weir
