// One try of an Acquire: the call to the store, or to an allowance, and its result.
#pragma once

#include <atomic>
#include <cstdint>

#include "weir/limiter/acquire_end.h"
#include "weir/limiter/allowance/allowances.h"
#include "weir/telemetry/histogram.h"

namespace weir {

class LimitsRenewal;

/// Thread-safe. All constructor arguments must outlive it.
class AcquireAttempt {
 public:
  struct Parts {
    BucketStore& buckets;
    const Clock& clock;
    Waiting& waiting;
    Allowances& allowances;
    FailOpen& fail_open;
    AcquireEnd& end;
    LimitsRenewal& renewal;
  };
  explicit AcquireAttempt(const Parts& parts)
      : buckets_(parts.buckets),
        clock_(parts.clock),
        waiting_(parts.waiting),
        allowances_(parts.allowances),
        fail_open_(parts.fail_open),
        end_(parts.end),
        renewal_(parts.renewal) {}

  /// Tries a new call at once, or queues or refuses it behind waiting requests.
  void Enter(CallPtr call);
  /// Decides from an allowance, or calls the store. No request is ahead of the call.
  void Try(CallPtr call);
  /// Calls the store. OnStoreResult continues when the store has completed and its function has
  /// returned, on the thread of the later event (PendingAcquire::ArriveSecond).
  void CallStore(CallPtr owned);
  /// Ends a decided call.
  void Serve(CallPtr call, Decision decision);
  /// Refuses the call, or queues it if it may wait and can be admitted in time.
  void OnRefusal(CallPtr call, Decision decision);
  /// Continues according to the result of Waiting::JoinBehind or Waiting::QueueRefused.
  void FollowVerdict(CallPtr call, Waiting::Verdict verdict);
  /// Refuses a call that was not tried. Reads its buckets for the report, if there is time for
  /// that.
  void RefuseUntried(CallPtr call);
  /// Returns whether a call to the store that begins at `at` usually has its result by the
  /// deadline.
  bool HasTime(Deadline deadline, Instant at) const;

  std::uint64_t store_acquires() const { return store_acquires_.Value(); }
  HistogramSnapshot StoreLatency() const { return store_latency_.Snapshot(); }

 private:
  class StoreReceiver;

  /// Handles the store's result.
  void OnStoreResult(CallPtr call);
  /// Returns the longest time until the head of a queue ahead of the call tries again; at least 1
  /// ms. Returns kNeverAdmitted if the amounts of the call's parts add up to more than a capacity.
  milliseconds WaitBehind(const PendingAcquire& call);

  BucketStore& buckets_;
  const Clock& clock_;
  Waiting& waiting_;
  Allowances& allowances_;
  FailOpen& fail_open_;
  AcquireEnd& end_;
  LimitsRenewal& renewal_;
  Counter store_acquires_;
  Histogram store_latency_;  // nanoseconds
  /// A moving average of the latencies of successful calls, in nanoseconds. If two results arrive
  /// at the same time, one may be left out.
  std::atomic<std::int64_t> usual_latency_ = 0;
};

}  // namespace weir
