// Sends debits and returns, and handles their results.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weir/base/owed_result.h"
#include "weir/limiter/allowance/allowances_state.h"

namespace weir {
namespace {

using DebitDone = OwedResult<Decision, "the debit was dropped by the store">;

std::uint64_t SumOfMagnitudes(const std::vector<Charge>& charges) {
  std::uint64_t sum = 0;
  for (const Charge& charge : charges) {
    for (const std::int64_t amount : charge.amounts) {
      sum += static_cast<std::uint64_t>(std::abs(amount));
    }
  }
  return sum;
}

// Returns the bucket time of a deadline, or a little earlier. `now` is the bucket time, read before
// this call.
UnixMillis CountsBy(Deadline deadline, UnixMillis now, const Clock& clock) {
  return now + std::chrono::floor<milliseconds>(deadline.at() - clock.Now());
}

}  // namespace

void Allowances::SendDebit(Debit debit) {
  debits_.Add();
  // A copy, because the store reads the charges while `debit` is moved into the callback.
  const std::vector<Charge> charges = debit.charges;
  const UnixMillis now = store_.Now();
  const Deadline deadline = debit.deadline;
  store_.Acquire(charges, now, deadline,
                 DebitDone([this, host = host_.lock(), debit = std::move(debit)](
                               const auto& result) { OnDebitResult(debit, result); }));
}

// An outdated result counts as a failure: nothing was taken, and no request is decided by it. The
// entry is removed. Otherwise requests that give the same limits would keep it, and all of its
// debits would be outdated, until a request with the configured limits replaces it.
void Allowances::OnDebitResult(const Debit& debit, const Result<Decision>& result) {
  const EntryPtr& entry = debit.entry;
  PendingActions actions;
  {
    Stripe& stripe = StripeOf(*entry->own);
    const MutexLock lock(stripe.mutex);
    const Instant now = scheduler_.clock().Now();
    Allowance& allowance = entry->allowance;
    const bool outdated = result && result->outdated;
    if (!result || outdated) {
      allowance.OnFailed(now);
    } else if (result->admitted) {
      debited_.Add(SumOfMagnitudes(debit.charges));
      entry->shard_count = result->of_shards;
      allowance.OnDebited(entry->AvailableOf(debit.charges, *result), now,
                          entry->PaidBy(debit.charges, *result));
    } else {
      refused_.Add();
      const milliseconds wait = std::min(result->retry_after, kMaxAllowance) + milliseconds(1);
      if (result->contended) {
        allowance.OnContended(now + wait, now);
      } else {
        // The store counted the wait from the `now` of SendDebit, a moment after `sent`.
        allowance.OnRefused(entry->AvailableOf(debit.charges, *result), debit.sent + wait, now);
      }
    }
    if (entry->gone) {
      RecordReturns(entry, allowance.Drop(now), actions);
    } else if (outdated) {
      Remove(stripe.entries, entry, now, actions);
    }
    if (outdated) RenewWaiting(debit, actions);
    DecideWaiting(entry, now, actions);
  }
  if (closed_) {  // no further call to the store is made; the tokens are forfeited
    for (const auto& [charges, deadline] : actions.returns)
      forfeited_.Add(SumOfMagnitudes(charges));
    actions.returns.clear();
    actions.renewal.reset();
  }
  Perform(std::move(actions));
}

void Allowances::RenewWaiting(const Debit& debit, PendingActions& actions) {
  std::vector<CallPtr> waiting = std::exchange(debit.entry->waiting, {});
  waiting_ -= waiting.size();
  for (CallPtr& call : waiting) {
    const bool is_given = call->charges.front().resolved_at == kGiven;
    (is_given ? actions.for_store : actions.outdated).push_back(std::move(call));
  }
  if (actions.outdated.empty()) actions.renewal = {debit.entry->targets, debit.deadline};
}

// Decides the calls in the order of arrival. If a call causes the next debit, this call and the
// calls behind it wait for that debit.
void Allowances::DecideWaiting(const EntryPtr& entry, Instant now, PendingActions& actions) {
  std::vector<CallPtr> waiting = std::exchange(entry->waiting, {});
  waiting_ -= waiting.size();
  for (CallPtr& call : waiting) {
    if (!entry->gone) {
      DecideCall(entry, call, AllowanceRequest(*entry->NeedOf(call->charges), *entry, now),
                 actions);
    }
    if (call != nullptr) actions.for_store.push_back(std::move(call));
  }
}

void Allowances::GiveBack(std::vector<Charge> charges, Deadline deadline) {
  const auto host = host_.lock();
  if (host == nullptr) return forfeited_.Add(SumOfMagnitudes(charges));
  returns_.Add();
  const UnixMillis now = store_.Now();
  AdjustTerms terms = host->NewAdjustId();
  terms.counts_by = CountsBy(deadline, now, scheduler_.clock());
  store_.Adjust(charges, terms, now, deadline, [this, host, charges](const Status& result) {
    // After an error the return may count or not; it is not sent again.
    (result ? returned_ : forfeited_).Add(SumOfMagnitudes(charges));
    if (result) host->OnTokensReturned(charges);
  });
}

}  // namespace weir
