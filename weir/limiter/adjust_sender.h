// Sends the adjusts of leases to the store, each under its id. Mechanism: docs/design/limiter.md.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/limiter/adjustment.h"
#include "weir/limiter/waiting.h"
#include "weir/runtime/executor.h"
#include "weir/telemetry/counter.h"
#include "weir/telemetry/thread_number.h"

namespace weir {

/// Thread-safe. Reports returned tokens to Waiting, so that waiting requests try again.
class AdjustSender {
 public:
  struct Options {
    milliseconds timeout;           ///< the timeout of one adjust
    Executor* callbacks = nullptr;  ///< runs the callers' `done`; null: the completing thread does
    std::optional<std::uint64_t> seed{};
  };
  AdjustSender(BucketStore& store, const Clock& clock, Waiting& waiting, const Options& options);
  /// Call this before anything else. This object is a member of the owner; adjusts in flight and
  /// leases keep the owner alive.
  void Bind(const std::shared_ptr<void>& owner);
  /// Makes leases refuse further calls, because the Limiter is being destroyed. REQUIRES: no thread
  /// is in OwnedByThread.
  void Close();
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  /// Returns a pointer that keeps the owner alive.
  std::shared_ptr<AdjustSender> Owned();
  /// Like Owned, but threads rarely share the pointer's reference count. REQUIRES: not closed.
  std::shared_ptr<AdjustSender> OwnedByThread() const {
    return owned_by_thread_[ThreadNumber() % kThreadSlots];
  }

  /// Returns a new random id.
  AdjustId NewAdjustId();
  /// Makes an adjustment with a new id. `stores_limits`: AdjustTerms::stores_limits.
  AdjustmentPtr NewAdjustment(std::vector<Charge> deltas, bool stores_limits = false);
  /// Sends the first adjustment of the run; RecordResult continues with the next. `run` is not
  /// empty.
  void SendRun(AdjustRun run);
  /// Returns these charges to the store without waiting for the result.
  void GiveBack(const std::vector<Charge>& charges);

  Executor* callbacks() const { return callbacks_; }
  std::uint64_t sent() const { return sent_.Value(); }
  std::uint64_t in_doubt() const { return in_doubt_.Value(); }
  std::uint64_t given_up() const { return given_up_.Value(); }

 private:
  struct AdjustReceiver;

  /// Records the end of the first adjustment of the run, then sends the next or ends the run.
  void RecordResult(AdjustRun run, Adjustment::State state, Status result);
  BucketStore& buckets_;
  const Clock& clock_;
  Waiting& waiting_;
  const milliseconds timeout_;
  Executor* const callbacks_;
  static constexpr std::size_t kThreadSlots = 16;

  std::weak_ptr<void> owner_;
  /// Each has a reference count of its own, and keeps the owner alive until Close.
  std::array<std::shared_ptr<AdjustSender>, kThreadSlots> owned_by_thread_;
  std::atomic<bool> closed_ = false;
  Mutex rng_mutex_;
  Rng rng_ WEIR_GUARDED_BY(rng_mutex_);
  Counter sent_;
  Counter in_doubt_;
  Counter given_up_;
};

}  // namespace weir
