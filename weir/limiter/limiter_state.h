// The state of a Limiter and the path of a call through it.
//
//   Acquire --> resolve --> Enter --+--> Try, if no request waits for one of the buckets
//                                   +--> wait queue (Waiting::JoinBehind), if the call may wait
//                                   +--> RefuseUntried, if it may not wait
//
//   Try --> CallStore --> OnStoreResult --+--> Admit
//                                        +--> RenewCall --> Try, if the limits are outdated
//                                        +--> OnRefusal --+--> Refuse
//                                                         +--> wait queue (Waiting::QueueRefused)
//
//   wait queue --+--> TakeTurn --> Try
//                +--> Expire --> RefuseUntried --> Refuse
//                +--> Abandon, Stop --> Fail
//
// The steps before `Enter` are here, the tries in AcquireAttempt, the renewals in LimitsRenewal,
// the ends in AcquireEnd. `Try` decides from an allowance if possible (Allowances::TryTake). Each
// call ends once: in Admit, Refuse or Fail, or without a charge in OnStoreError. A CallPtr is moved
// from step to step, so a call has one owner at a time. No lock is held while a step runs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weir/limiter/acquire_attempt.h"
#include "weir/limiter/acquire_end.h"
#include "weir/limiter/adjust_sender.h"
#include "weir/limiter/allowance/allowances.h"
#include "weir/limiter/fail_open.h"
#include "weir/limiter/group/debits.h"
#include "weir/limiter/group/group_requests.h"
#include "weir/limiter/limiter.h"
#include "weir/limiter/limits_renewal.h"
#include "weir/limiter/outdated_log.h"
#include "weir/limiter/pending_acquire.h"
#include "weir/limiter/waiting.h"

namespace weir {

/// Also owned by the objects that may outlive the Limiter: leases, waiting requests and adjusts.
/// Thread-safe.
class Limiter::State final : public Waiting::Host,
                             public Allowances::Host,
                             public std::enable_shared_from_this<State> {
 public:
  State(Backend& backend, Scheduler& scheduler, const LimiterOptions& options);

  /// Passes the owning pointer to the members; called once, when a shared_ptr owns the state.
  void BindMembers();
  /// Completes the waiting requests with kCancelled and returns the tokens of allowances.
  void Close();

  /// Returns the cached limits of the request. Returns null if they must be read, or if the request
  /// has limits of its own.
  ResolvedPtr FindCached(const AcquireRequest& request);
  /// Returns the outcome if an allowance decides the request at once, without a PendingAcquire.
  std::optional<Outcome> DecideAtOnce(const AcquireRequest& request, Deadline deadline,
                                      const ResolvedPtr& resolved);
  /// Starts a PendingAcquire. `resolved` is the result of FindCached.
  void Acquire(const AcquireRequest& request, Deadline deadline, const ResolvedPtr& resolved,
               Done<Outcome> done);
  GroupRequests& groups() { return groups_; }
  Debits& debits() { return debits_; }
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done);
  void Peek(const PeekRequest& request, Deadline deadline, Done<Peeked> done);
  void Credit(BucketCredit credit, Deadline deadline, Done<std::vector<CreditedLimit>> done);
  Resolver& resolver() { return resolver_; }
  Executor* callbacks() const { return options_.callbacks; }
  LimiterStats stats() const;
  HistogramSnapshot StoreLatency() const { return attempt_.StoreLatency(); }

  AdjustSender& adjusts() { return adjusts_; }

 private:
  // From Acquire to the first try.

  /// Makes the call, with a WaitState if the request may wait.
  CallPtr NewCall(const AcquireRequest& request, Deadline deadline, Done<Outcome> done);
  /// Returns the deadline of a try that begins now, for a waiting request with this deadline.
  Deadline DeadlineOfTry(Deadline of_request, Instant now) const;
  /// Sets the charges of a request that has limits of its own, then calls AcquireAttempt::Enter.
  void StartGiven(CallPtr call, const AcquireRequest& request);
  /// Sets the charges of a request under resolved limits, then calls AcquireAttempt::Enter.
  void StartResolved(CallPtr call, const ResolvedPtr& resolved, const Amounts& amounts);
  /// Resolves the limits of a waiting call again, then tries it.
  void TakeTurn(CallPtr call) override;
  void Expire(CallPtr call) override;
  void Abandon(CallPtr call) override { end_.Abandon(std::move(call)); }
  void Stop(CallPtr call) override { end_.Stop(std::move(call)); }
  /// Tries a waiting call under the limits that apply now.
  void TryAgain(CallPtr call, Result<ResolvedPtr> resolved);

  void Serve(CallPtr call, Decision decision) override {
    attempt_.Serve(std::move(call), std::move(decision));
  }
  void CallStore(CallPtr call) override { attempt_.CallStore(std::move(call)); }
  void RenewCall(CallPtr call) override { renewal_.RenewCall(std::move(call)); }
  void RenewTargets(std::vector<TargetPtr> targets, Deadline deadline) override {
    renewal_.RenewTargets(std::move(targets), deadline);
  }
  void OnTokensReturned(std::span<const Charge> charges) override {
    waiting_.OnTokensReturned(charges);
  }
  AdjustId NewAdjustId() override { return adjusts_.NewAdjustId(); }

  Backend& backend_;
  const Clock& clock_;
  const LimiterOptions options_;
  Resolver resolver_;
  Waiting waiting_;
  Allowances allowances_;
  AdjustSender adjusts_;
  FailOpen fail_open_;
  AcquireEnd end_;
  OutdatedLog outdated_log_;
  LimitsRenewal renewal_;
  AcquireAttempt attempt_;
  GroupRequests groups_;
  Debits debits_;
};

}  // namespace weir
