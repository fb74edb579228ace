// Drives the wait queue: timers, and calls whose turn it is. Mechanism: docs/design/waiting.md.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/limiter/call.h"
#include "weir/limiter/wait_queue.h"
#include "weir/runtime/scheduler.h"
#include "weir/runtime/turn_pump.h"

namespace weir {

/// Thread-safe. Tries and ends are begun on the scheduler's thread only, one after the other: what
/// runs when a waiter is answered may itself give tokens back without nesting.
class Waiting {
 public:
  /// What the queue asks of its owner; called without a lock.
  class Host {
   public:
    virtual ~Host() = default;
    /// It is this call's turn: try. Ends in Stay or Leave.
    virtual void TakeTurn(CallPtr call) = 0;
    /// Its time is over, it has left: refuse.
    virtual void Expire(CallPtr call) = 0;
    /// The queue closes, it has left.
    virtual void Abandon(CallPtr call) = 0;
  };

  Waiting(Scheduler& scheduler, std::size_t max);
  /// Before anything else. Tasks of the scheduler keep the host alive while they run.
  void Bind(const std::weak_ptr<Host>& host);

  /// True if nobody waits for any bucket. One relaxed load.
  bool idle() const { return size_.load(std::memory_order_relaxed) == 0; }
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  /// Numbers waiting requests in the order of their arrival.
  WaitQueue::Id NextId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  /// Changes when tokens come back to one of these buckets: taken before a try, it tells Stay
  /// whether the refusal is still to be believed.
  std::uint64_t Stamp(std::span<const Charge> charges) const;

  /// Somebody waits for one of these buckets; `retry_at` is when the head tries again, if known.
  struct Ahead {
    std::optional<Instant> retry_at;
  };
  std::optional<Ahead> FindAhead(std::span<const Charge> charges) const;

  enum class Verdict {
    kTry,      ///< nobody is ahead
    kQueued,   ///< `call` was taken
    kTooLate,  ///< the head waits longer than the call would
    kFull,
    kClosed,
  };
  /// A new call that may wait: behind those who wait for one of its buckets.
  Verdict Join(CallPtr& call);
  /// The call's try was refused by this bucket, until `retry_at`. Never kTry or kTooLate.
  Verdict Stay(CallPtr& call, const TargetPtr& bucket, Instant retry_at);
  /// The call's try ended otherwise. Without effect where it has no place.
  void Leave(Call& call);

  /// Tokens came back to these buckets.
  void GaveBack(std::span<const Charge> charges);
  /// Limits changed: every head looks again.
  void WakeAll();
  /// Abandons those who wait and takes no more.
  void Close();

 private:
  static constexpr std::size_t kStamps = 256;

  std::optional<Instant> NextTurn() const;
  bool TakeTurns();
  bool Place(CallPtr& call, const TargetPtr& bucket, std::optional<Instant> retry_at)
      WEIR_REQUIRES(mutex_);
  CallPtr Take(WaitQueue::Id id) WEIR_REQUIRES(mutex_);
  void Count() WEIR_REQUIRES(mutex_) { size_.store(queue_.size(), std::memory_order_seq_cst); }

  const Clock& clock_;
  const std::size_t max_;
  std::weak_ptr<Host> host_;
  std::atomic<WaitQueue::Id> next_id_ = 1;
  std::atomic<std::size_t> size_ = 0;
  std::atomic<bool> closed_ = false;
  std::atomic<std::uint64_t> changes_ = 0;
  std::array<std::atomic<std::uint64_t>, kStamps> stamps_{};

  mutable Mutex mutex_;
  WaitQueue queue_ WEIR_GUARDED_BY(mutex_);
  std::map<WaitQueue::Id, CallPtr> calls_ WEIR_GUARDED_BY(mutex_);  ///< those that do not try

  TurnPump pump_;
};

}  // namespace weir
