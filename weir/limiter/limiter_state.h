// What a Limiter is made of.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/limiter/adjustment.h"
#include "weir/limiter/allowances.h"
#include "weir/limiter/call.h"
#include "weir/limiter/limiter.h"
#include "weir/limiter/outdated_log.h"
#include "weir/limiter/uncharged_log.h"
#include "weir/limiter/waiting.h"
#include "weir/telemetry/counter.h"
#include "weir/telemetry/histogram.h"

namespace weir {

/// Shared with the calls that may outlast the Limiter: waiting requests and adjusts.
class Limiter::State final : public Waiting::Host,
                             public Allowances::Host,
                             public std::enable_shared_from_this<State> {
 public:
  State(Limiter& owner, Backend& backend, Scheduler& scheduler, const LimiterOptions& options);

  /// After construction, once it is shared.
  void Start();
  void Close();

  /// What is remembered for the request; null where it brings its limits or they are to be read.
  ResolvedPtr Find(const AcquireRequest& request);
  /// The outcome where an allowance tells it, without a Call.
  std::optional<Outcome> AtOnce(const AcquireRequest& request, Deadline deadline,
                                const ResolvedPtr& resolved);
  /// `resolved`: of Find.
  void Acquire(const AcquireRequest& request, Deadline deadline, const ResolvedPtr& resolved,
               Done<Outcome> done);
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done);
  Resolver& resolver() { return resolver_; }
  LimiterStats stats() const;
  HistogramSnapshot StoreLatency() const { return store_latency_.Snapshot(); }

  AdjustmentPtr NewAdjustment(std::vector<Charge> deltas);
  void Send(AdjustRun run);
  /// Without waiting for the answer.
  void GiveBack(const std::vector<Charge>& charges);

 private:
  class StoreAnswer;

  CallPtr NewCall(const AcquireRequest& request, Deadline deadline, Done<Outcome> done);
  void StartGiven(CallPtr call, const AcquireRequest& request);
  void StartResolved(CallPtr call, const ResolvedPtr& resolved, const Amounts& amounts);
  void Enter(CallPtr call);
  void Place(CallPtr call, Waiting::Verdict verdict);

  void TakeTurn(CallPtr call) override;
  void Expire(CallPtr call) override;
  void Abandon(CallPtr call) override;
  void TryAgain(CallPtr call, Result<ResolvedPtr> resolved);

  void Renew(CallPtr call) override;
  void Renew(std::vector<TargetPtr> targets, Deadline deadline) override;
  void TryRenewed(CallPtr call, Result<ResolvedPtr> resolved);
  void Note(std::span<const TargetPtr> outdated, const Resolved& now);

  void Serve(CallPtr call, Decision decision) override;
  void CameBack(std::span<const Charge> charges) override { waiting_.GaveBack(charges); }
  AdjustId NewToken() override;

  void Try(CallPtr call);
  void AskStore(CallPtr owned) override;
  void Answered(CallPtr call);
  void Refused(CallPtr call, Decision decision);
  void RefuseBehind(CallPtr call);
  /// Until those ahead of it try again.
  milliseconds WaitBehind(const Call& call);

  /// Of a request that the store does not answer.
  OnUnavailable PolicyOf(const Call& call) const;

  // These end the call.
  void Admit(CallPtr call, Decision decision);
  void Refuse(CallPtr call, Decision decision);
  void Fail(CallPtr call, Error error);
  void Unanswered(CallPtr call, Error error);
  void Unanswered(CallPtr call, Error error, std::string_view entity, std::string_view resource);

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
