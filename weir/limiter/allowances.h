// Drives allowances: who has one, debits and returns, and those who wait for an answer.
// Mechanism: docs/design/allowances.md.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/limiter/allowance_entry.h"
#include "weir/limiter/call.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket_store.h"
#include "weir/telemetry/counter.h"

namespace weir {

/// One allowance for each pair of entity and resource whose requests ask for limits that have one.
/// Thread-safe. The store and the scheduler must outlive it. No lock is held while the store, the
/// scheduler or the host is called.
class Allowances {
 public:
  /// What is asked of the owner.
  class Host {
   public:
    virtual ~Host() = default;
    /// The call is decided.
    virtual void Serve(CallPtr call, Decision decision) = 0;
    /// The call is for the store after all.
    virtual void AskStore(CallPtr call) = 0;
    /// The limits of the call are outdated: they are to be resolved again, and the call tried
    /// again.
    virtual void Renew(CallPtr call) = 0;
    /// The same for limits that no call waits for. `targets`: the pair's own first.
    virtual void Renew(std::vector<TargetPtr> targets, Deadline deadline) = 0;
    /// Tokens came back to these buckets.
    virtual void CameBack(std::span<const Charge> charges) = 0;
    virtual AdjustId NewToken() = 0;
  };

  /// At most `max` pairs have one; at most `max_waiting` calls wait for an answer. Others ask the
  /// store.
  Allowances(BucketStore& store, Scheduler& scheduler, std::size_t max, std::size_t max_waiting);
  ~Allowances();
  /// Before anything else. What is under way keeps the host alive.
  void Bind(std::weak_ptr<Host> host) { host_ = std::move(host); }

  /// The decision where what is held, or known of the bucket, tells it: what nearly all requests
  /// get and what costs least. Nothing: make a Call of it, and Take that.
  std::optional<Decision> Tell(const std::vector<Charge>& charges, Deadline deadline);
  /// True: the call was taken, and is decided now or by the answer to a debit. False: it is for the
  /// store, because one of its limits has no allowance, or none is to be had. A call that may wait
  /// for tokens is taken only where they are held.
  bool Take(CallPtr& call);
  /// Gives back what is held, without waiting for the answers. Takes no more.
  void Close();

  AllowanceStats stats() const;

 private:
  struct Debit;
  struct Asked;
  struct Effects;
  struct Entries;
  struct Stripe;
  struct Stripes;
  using EntryPtr = AllowanceEntryPtr;

  Stripe& StripeOf(const Target& own) const;
  /// Under the lock of those entries.
  EntryPtr Find(Entries& entries, const std::vector<Charge>& charges, Instant now,
                Effects& effects);
  static bool MayDecide(AllowanceEntry& entry, const Call& call, const Asked& asked);
  void Decide(const EntryPtr& entry, CallPtr& call, const Asked& asked, Effects& effects);
  Decision Conclude(const AllowanceEntry& entry, const std::vector<Charge>& charges,
                    const Asked& asked, const Allowance::Step& step);
  void DecideWaiting(const EntryPtr& entry, Instant now, Effects& effects);
  void RenewWaiting(const Debit& debit, Effects& effects);
  static Debit Begin(const EntryPtr& entry, Deadline deadline, Instant now);
  void Leave(const EntryPtr& entry, const Allowance::Leaving& leaving, Effects& effects);

  void Do(Effects effects);
  void Send(Debit debit);
  void Answered(const Debit& debit, const Result<Decision>& answer);
  void GiveBack(std::vector<Charge> charges, Deadline deadline);
  void WakeLater(const EntryPtr& entry);
  void Wake(const EntryPtr& entry);

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
  Counter debited_;  ///< this and the next three in millitokens
  Counter spent_;
  Counter returned_;
  Counter forfeited_;
};

}  // namespace weir
