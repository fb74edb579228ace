// The state of a Limiter and the path of a call through it.
//
//   Acquire --> resolve --> Enter --+--> Try
//                                   +--> wait queue (Waiting::Join), if others wait for a bucket
//                                   +--> RefuseBehind, if in addition the call may not wait
//
//   Try --> AskStore --> Answered --+--> Admit
//                                   +--> Renew --> Try, if the limits are outdated
//                                   +--> Refused --+--> Refuse
//                                                  +--> wait queue (Waiting::Stay), if it may wait
//
//   wait queue --+--> TakeTurn --> Try
//                +--> Expire --> RefuseBehind --> Refuse
//                +--> Abandon --> Fail
//
// `Try` decides from an allowance if possible (Allowances::Take). Each call ends once: in Admit,
// Refuse or Fail, or without a charge in Unanswered. A CallPtr is moved from step to step, so a
// call has one owner at a time. No lock is held while a step runs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/limiter/adjustment.h"
#include "weir/limiter/allowance/allowances.h"
#include "weir/limiter/call.h"
#include "weir/limiter/limiter.h"
#include "weir/limiter/outdated_log.h"
#include "weir/limiter/uncharged_log.h"
#include "weir/limiter/waiting.h"
#include "weir/telemetry/counter.h"
#include "weir/telemetry/histogram.h"

namespace weir {

/// Also owned by the calls that may outlive the Limiter: waiting requests and adjusts. Thread-safe.
class Limiter::State final : public Waiting::Host,
                             public Allowances::Host,
                             public std::enable_shared_from_this<State> {
 public:
  State(Limiter& owner, Backend& backend, Scheduler& scheduler, const LimiterOptions& options);

  /// Passes weak_from_this() to the members; called once, when a shared_ptr owns the state.
  void Start();
  /// Completes the waiting requests with kCancelled and returns the tokens of allowances.
  void Close();

  /// Returns the cached limits of the request. Returns null if they must be read, or if the request
  /// has limits of its own.
  ResolvedPtr Find(const AcquireRequest& request);
  /// Returns the outcome if an allowance decides the request at once, without a Call.
  std::optional<Outcome> AtOnce(const AcquireRequest& request, Deadline deadline,
                                const ResolvedPtr& resolved);
  /// Starts a Call. `resolved` is the result of Find.
  void Acquire(const AcquireRequest& request, Deadline deadline, const ResolvedPtr& resolved,
               Done<Outcome> done);
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done);
  Resolver& resolver() { return resolver_; }
  LimiterStats stats() const;
  HistogramSnapshot StoreLatency() const { return store_latency_.Snapshot(); }

  /// Makes an adjustment with a new random id.
  AdjustmentPtr NewAdjustment(std::vector<Charge> deltas);
  /// Sends the first adjustment of the run; Settle continues with the next. `run` is not empty.
  void Send(AdjustRun run);
  /// Returns these charges to the store without waiting for the result.
  void GiveBack(const std::vector<Charge>& charges);

 private:
  class StoreAnswer;

  // From Acquire to the first try (acquire.cc).

  /// Makes the call; with a Patience if the request may wait.
  CallPtr NewCall(const AcquireRequest& request, Deadline deadline, Done<Outcome> done);
  /// Charges a request that has limits of its own, then enters.
  void StartGiven(CallPtr call, const AcquireRequest& request);
  /// Charges a request under resolved limits, then enters.
  void StartResolved(CallPtr call, const ResolvedPtr& resolved, const Amounts& amounts);
  /// Tries the call at once, or queues or refuses it behind waiting requests.
  void Enter(CallPtr call);
  /// Continues according to the result of Waiting::Join or Waiting::Stay.
  void Place(CallPtr call, Waiting::Verdict verdict);

  /// Resolves the limits of a waiting call again, then tries it.
  void TakeTurn(CallPtr call) override;
  void Expire(CallPtr call) override;
  void Abandon(CallPtr call) override;
  /// Tries a waiting call under the limits that apply now.
  void TryAgain(CallPtr call, Result<ResolvedPtr> resolved);

  // Outdated limits (renewal.cc).

  /// Resolves the limits without the cache and tries again; after kMostRenewals, refuses.
  void Renew(CallPtr call) override;
  void Renew(std::vector<TargetPtr> targets, Deadline deadline) override;
  /// Charges the call under the new limits and tries it.
  void TryRenewed(CallPtr call, Result<ResolvedPtr> resolved);
  /// Logs that `outdated` were resolved again, and whether the result differs.
  void Note(std::span<const TargetPtr> outdated, const Resolved& now);

  void Serve(CallPtr call, Decision decision) override;
  void CameBack(std::span<const Charge> charges) override { waiting_.GaveBack(charges); }
  AdjustId NewToken() override;

  // One try and its result (acquire_completion.cc).

  /// Decides from an allowance, or calls the store. No request is ahead of the call.
  void Try(CallPtr call);
  /// Calls the store. Answered continues, on whichever thread is second (Call::Meet).
  void AskStore(CallPtr owned) override;
  /// Takes the store's result.
  void Answered(CallPtr call);
  /// Refuses the call, or queues it if it may wait and can be admitted in time.
  void Refused(CallPtr call, Decision decision);
  /// Refuses a call that was not tried. Reads its buckets for the report.
  void RefuseBehind(CallPtr call);
  /// Returns the time until the waiting requests ahead of the call try again; at least 1 ms.
  milliseconds WaitBehind(const Call& call);

  /// Returns the policy for this call if the store is unavailable.
  OnUnavailable PolicyOf(const Call& call) const;

  // These end the call.
  void Admit(CallPtr call, Decision decision);
  void Refuse(CallPtr call, Decision decision);
  void Fail(CallPtr call, Error error);
  /// Without a decision of the store: fails, or admits without a charge if the policy says so.
  void Unanswered(CallPtr call, Error error);
  void Unanswered(CallPtr call, Error error, std::string_view entity, std::string_view resource);

  /// Records the end of the first adjustment of the run, then sends the next or ends the run.
  void Settle(AdjustRun run, Adjustment::State state, Status answer);

  Limiter& owner_;
  BucketStore& buckets_;
  ConfigStore& config_;
  const Clock& clock_;
  const LimiterOptions options_;
  Resolver resolver_;
  Waiting waiting_;
  Allowances allowances_;
  UnchargedLog uncharged_;
  OutdatedLog outdated_log_;
  Mutex rng_mutex_;
  Rng rng_ WEIR_GUARDED_BY(rng_mutex_);

  Counter charged_;
  Counter refused_;
  Counter errors_;
  Counter unprotected_;
  Counter store_errors_;
  Counter adjusts_in_doubt_;
  Counter adjusts_given_up_;
  Counter outdated_;
  Counter store_acquires_;
  Counter store_adjusts_;
  Histogram store_latency_;  // nanoseconds
};

}  // namespace weir
