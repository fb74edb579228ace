// The driver of allowances: stores one allowance for each pair, sends debits and returns, and
// queues the calls that wait for a debit. Mechanism: docs/design/allowances.md.
//
//   TryDecide --> decision           (most requests; without a PendingAcquire)
//     | nothing
//     v
//   TryTake --+--> false: the caller calls the store
//             +--> Host::Serve             decided from the held tokens
//             +--> AllowanceEntry::waiting --> OnDebitResult --+--> Host::Serve      decided
//                       |                      ^               +--> Host::CallStore   debit failed
//                       |    debit in flight   |               +--> Host::RenewCall  old limits
//                       +----------------------+
//
// Functions with a PendingActions parameter run under the lock of the entry's stripe and only
// record the actions; Perform does them after the lock is released.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/limiter/allowance/allowance_entry.h"
#include "weir/limiter/pending_acquire.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/telemetry/counter.h"

namespace weir {

/// One allowance for each (entity, resource) pair whose requests are charged under limits with an
/// allowance. Thread-safe. The store and the scheduler must outlive it. No lock is held while the
/// store, the scheduler or the host is called.
class Allowances {
 public:
  /// The owner, which continues the calls.
  class Host {
   public:
    virtual ~Host() = default;
    /// The call is decided.
    virtual void Serve(CallPtr call, Decision decision) = 0;
    /// The call must be decided by the store.
    virtual void CallStore(CallPtr call) = 0;
    /// The limits of the call are outdated: resolve them again and try the call again.
    virtual void RenewCall(CallPtr call) = 0;
    /// The limits of the targets are outdated, and no call waits for them: resolve them again. The
    /// pair's own target is the first of `targets`.
    virtual void RenewTargets(std::vector<TargetPtr> targets, Deadline deadline) = 0;
    /// Tokens were returned to these buckets.
    virtual void OnTokensReturned(std::span<const Charge> charges) = 0;
    /// Returns a new random id for an adjust.
    virtual AdjustId NewAdjustId() = 0;
  };

  /// At most `max` pairs have an allowance, and at most `max_waiting` calls wait for debits. Calls
  /// beyond these bounds go to the store.
  Allowances(BucketStore& store, Scheduler& scheduler, std::size_t max, std::size_t max_waiting);
  ~Allowances();
  /// Call this before anything else. Calls to the store and tasks that are in flight keep the host
  /// alive.
  void Bind(std::weak_ptr<Host> host) { host_ = std::move(host); }

  /// Returns the decision if the held tokens, or the known balance of the bucket, decide it. This
  /// is the fast path, for nearly all requests. If it returns nullopt, make a PendingAcquire and
  /// pass it to TryTake.
  std::optional<Decision> TryDecide(const std::vector<Charge>& charges, Deadline deadline);
  /// Returns true and takes the call if it is decided now or by a debit. Returns false, and leaves
  /// the call, if the store must decide it, for example because one of its limits has no allowance
  /// or a bound is reached. A call that may wait for tokens is taken only if its tokens are held.
  bool TryTake(CallPtr& call);
  /// Returns the held tokens to the store, without waiting for the results. Later calls of
  /// TryDecide and TryTake leave the decision to the store.
  void Close();

  AllowanceStats stats() const;

 private:
  struct Debit;
  struct AllowanceRequest;
  struct Renewal;
  struct PendingActions;
  struct Entries;
  struct Stripe;
  struct Stripes;
  using EntryPtr = AllowanceEntryPtr;

  Stripe& StripeOf(const Target& own) const;

  // Under the lock of the entry's stripe.

  /// Returns the entry for these charges; makes one if necessary. Returns null if there are `max`
  /// entries already, or after Close.
  EntryPtr FindOrMake(Entries& entries, const std::vector<Charge>& charges, Instant now,
                      PendingActions& actions);
  /// Removes the entry and returns its tokens. REQUIRES: !entry->gone.
  void Remove(Entries& entries, const EntryPtr& entry, Instant now, PendingActions& actions);
  /// Returns whether the entry may decide the call, and records its demand if so.
  static bool MayDecide(AllowanceEntry& entry, const PendingAcquire& call,
                        const AllowanceRequest& request);
  /// Takes the call if it is decided or waits for a debit; otherwise leaves it for the store.
  void DecideCall(const EntryPtr& entry, CallPtr& call, const AllowanceRequest& request,
                  PendingActions& actions);
  /// Counts a spent or refused request and returns its decision.
  Decision MakeDecision(const AllowanceEntry& entry, const std::vector<Charge>& charges,
                        const AllowanceRequest& request, const Allowance::Step& step);
  /// Decides the calls that waited for a debit, now that it has its result.
  void DecideWaiting(const EntryPtr& entry, Instant now, PendingActions& actions);
  /// Hands the calls that waited for an outdated debit to Host::RenewCall, or to the store if the
  /// request gives the limits: these are never outdated.
  void RenewWaiting(const Debit& debit, PendingActions& actions);
  /// Makes the debit that Allowance::Ask requested.
  static Debit BeginDebit(const EntryPtr& entry, Deadline deadline, Instant now);
  /// Records the returns of tokens that leave the allowance.
  void RecordReturns(const EntryPtr& entry, const Allowance::Departures& departures,
                     PendingActions& actions);

  // Without a lock.

  void Perform(PendingActions actions);
  void SendDebit(Debit debit);
  void OnDebitResult(const Debit& debit, const Result<Decision>& result);
  /// Sends a return.
  void GiveBack(std::vector<Charge> charges, Deadline deadline);
  /// Schedules the next WakeEntry of the entry.
  void WakeLater(const EntryPtr& entry);
  /// Removes expired and unused tokens, and the entry itself if it is idle.
  void WakeEntry(const EntryPtr& entry);

  BucketStore& store_;
  Scheduler& scheduler_;
  const std::size_t max_;
  const std::size_t max_waiting_;
  std::weak_ptr<Host> host_;
  std::unique_ptr<Stripes> stripes_;
  std::atomic<bool> closed_ = false;
  std::atomic<std::size_t> size_ = 0;
  std::atomic<std::size_t> waiting_ = 0;

  Counter decisions_;
  Counter debits_;
  Counter refused_;
  Counter returns_;
  Counter debited_;  ///< this counter and the next three are in millitokens
  Counter spent_;
  Counter returned_;
  Counter forfeited_;
};

}  // namespace weir
