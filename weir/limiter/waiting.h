// The driver of the wait queue: stores the waiting calls, and starts their tries and ends them on
// time. Mechanism: docs/design/waiting.md.
//
//   JoinBehind (new call) ------+                        +--> Host::TakeTurn --> QueueRefused, or
//   QueueRefused (refused) -----+--> WaitQueue --> pump -+                       RemoveCall
//   OnTokensReturned, WakeAll --+                   ^    +--> Host::Expire
//   RequestStop ------------------------------------+    +--> Host::Stop
//   Close --> Host::Abandon
//
// The pump calls the host on the scheduler's thread, Close on its caller's thread.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/limiter/pending_acquire.h"
#include "weir/limiter/wait_queue.h"
#include "weir/runtime/scheduler.h"
#include "weir/runtime/turn_pump.h"

namespace weir {

/// Thread-safe. Tries and ends, except those by Close, begin on the scheduler's thread only, one
/// after the other, so the callback of a waiting request may give tokens back without nesting.
class Waiting {
 public:
  /// The owner, which continues the calls. Called without a lock.
  class Host {
   public:
    virtual ~Host() = default;
    /// The call is to try now. The try ends in QueueRefused or RemoveCall.
    virtual void TakeTurn(CallPtr call) = 0;
    /// The time of the call is over and it was removed: refuse it.
    virtual void Expire(CallPtr call) = 0;
    /// The queue was closed and the call was removed.
    virtual void Abandon(CallPtr call) = 0;
    /// The caller has requested a stop and the call was removed.
    virtual void Stop(CallPtr call) = 0;
  };

  /// At most `max` calls wait. The scheduler must outlive it.
  Waiting(Scheduler& scheduler, std::size_t max);
  /// Call this before anything else. Tasks of the scheduler keep the host alive while they run.
  void Bind(const std::weak_ptr<Host>& host);

  /// Returns true if no request waits for any bucket. One relaxed load.
  bool idle() const { return size_.load(std::memory_order_relaxed) == 0; }
  std::size_t max() const { return max_; }
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  /// Returns the id of a new request that may wait. Ids ascend in the order of arrival.
  WaitQueue::Id NextId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns a number that changes when tokens are returned to one of these buckets. It is read
  /// before a try, so that QueueRefused can detect a return that crossed the refusal.
  std::uint64_t StampOf(std::span<const Charge> charges) const;

  /// FindAhead returns this if a request waits for one of the buckets. `retry_at` is the latest
  /// known time at which the head of one of their queues tries again; nullopt if none is known.
  struct Ahead {
    std::optional<Instant> retry_at;
  };
  std::optional<Ahead> FindAhead(std::span<const Charge> charges) const;

  enum class Verdict {
    kTry,      ///< no request is ahead
    kQueued,   ///< the queue has taken the call
    kTooLate,  ///< a head tries again after the end of the call's wait
    kFull,
    kClosed,
    kStopped,  ///< the caller has requested a stop
  };
  /// Queues a new call that may wait behind the requests that wait for one of its buckets. Takes
  /// the call only if it returns kQueued.
  Verdict JoinBehind(CallPtr& call);
  /// Queues a call whose try was refused by this bucket until `retry_at`. Takes the call only if it
  /// returns kQueued. Never returns kTry or kTooLate.
  Verdict QueueRefused(CallPtr& call, const TargetPtr& bucket, Instant retry_at);
  /// Removes a call whose try has ended. Has no effect if the call is not queued.
  void RemoveCall(PendingAcquire& call);

  /// From now on, a stop that the caller requests ends the wait. `wait` must not be moved.
  void WatchStop(WaitState& wait);
  /// Removes the call, on the scheduler's thread. Has no effect on a call that is trying:
  /// QueueRefused sees the stop. May be called under any lock but those of this module.
  void RequestStop(WaitQueue::Id id);

  /// Reports that tokens were returned to these buckets; the heads of their queues try.
  void OnTokensReturned(std::span<const Charge> charges);
  /// Reports that limits have changed or that a bucket was credited; the heads of all queues try.
  void WakeAll();
  /// Abandons the waiting calls and takes no more.
  void Close();

 private:
  static constexpr std::size_t kStamps = 256;

  /// Returns the time at which TakeTurns has work; used by the pump.
  std::optional<Instant> NextTurn() const;
  /// Starts the tries and ends that are due; returns false if there were none.
  bool TakeTurns();
  /// Adds the call to the queue and to calls_. Returns false if the queue is full.
  bool Enqueue(CallPtr& call, const TargetPtr& bucket, std::optional<Instant> retry_at)
      WEIR_REQUIRES(mutex_);
  /// Removes the queued calls whose callers have requested a stop, and returns them.
  std::vector<CallPtr> TakeStopped() WEIR_REQUIRES(mutex_);
  /// Removes a call from calls_ and returns it.
  CallPtr TakeCall(WaitQueue::Id id) WEIR_REQUIRES(mutex_);
  /// Updates size_ after a change of the queue.
  void UpdateSize() WEIR_REQUIRES(mutex_) { size_.store(queue_.size(), std::memory_order_seq_cst); }

  const Clock& clock_;
  const std::size_t max_;
  std::weak_ptr<Host> host_;
  std::atomic<WaitQueue::Id> next_id_ = 1;
  std::atomic<std::size_t> size_ = 0;
  std::atomic<bool> closed_ = false;
  /// The number of calls of WakeAll; a part of each stamp.
  std::atomic<std::uint64_t> changes_ = 0;
  std::array<std::atomic<std::uint64_t>, kStamps> stamps_{};  ///< number of returns, by bucket hash

  mutable Mutex mutex_;
  WaitQueue queue_ WEIR_GUARDED_BY(mutex_);
  std::map<WaitQueue::Id, CallPtr> calls_ WEIR_GUARDED_BY(mutex_);  ///< not trying
  std::vector<WaitQueue::Id> stops_ WEIR_GUARDED_BY(mutex_);        ///< requested, not handled

  TurnPump pump_;
};

}  // namespace weir
