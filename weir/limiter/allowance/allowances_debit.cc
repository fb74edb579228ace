// Sends debits and returns, and handles their results.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weir/limiter/allowance/allowances_state.h"

namespace weir {
namespace {

std::uint64_t Count(const std::vector<Charge>& charges) {
  std::uint64_t sum = 0;
  for (const Charge& charge : charges) {
    for (const std::int64_t amount : charge.amounts) {
      sum += static_cast<std::uint64_t>(std::abs(amount));
    }
  }
  return sum;
}

}  // namespace

void Allowances::Send(Debit debit) {
  debits_.Add();
  // A copy, because the store reads the charges while `debit` is moved into the callback.
  const std::vector<Charge> charges = debit.charges;
  const UnixMillis now = store_.Now();
  const Deadline deadline = debit.deadline;
  store_.Acquire(charges, now, deadline,
                 [this, host = host_.lock(), debit = std::move(debit)](const auto& answer) {
                   Answered(debit, answer);
                 });
}

// An outdated result counts as a failure: nothing was taken, and no request is decided by it.
void Allowances::Answered(const Debit& debit, const Result<Decision>& answer) {
  const EntryPtr& entry = debit.entry;
  Effects effects;
  {
    const MutexLock lock(StripeOf(*entry->targets.front()).mutex);
    const Instant now = scheduler_.clock().Now();
    Allowance& allowance = entry->allowance;
    const bool outdated = answer && answer->outdated;
    if (!answer || outdated) {
      allowance.Failed(now);
    } else if (answer->admitted) {
      debited_.Add(Count(debit.charges));
      entry->of_shards = answer->of_shards;
      allowance.Debited(entry->AvailableOf(debit.charges, *answer), now,
                        entry->PaidBy(debit.charges, *answer));
    } else {
      refused_.Add();
      const milliseconds wait = std::min(answer->retry_after, kMaxAllowance) + milliseconds(1);
      if (answer->contended) {
        allowance.Contended(now + wait, now);
      } else {
        // The store counted the wait from its own `now`, a moment after `sent`.
        allowance.Refused(entry->AvailableOf(debit.charges, *answer), debit.sent + wait, now);
      }
    }
    if (entry->gone) Leave(entry, allowance.Drop(now), effects);
    if (outdated) RenewWaiting(debit, effects);
    DecideWaiting(entry, now, effects);
  }
  if (closed_) {  // no further call to the store is made; the tokens are forfeited
    for (const auto& [charges, deadline] : effects.returns) forfeited_.Add(Count(charges));
    effects.returns.clear();
    effects.outdated_debit.reset();
  }
  Do(std::move(effects));
}

void Allowances::RenewWaiting(const Debit& debit, Effects& effects) {
  effects.outdated = std::exchange(debit.entry->waiting, {});
  waiting_ -= effects.outdated.size();
  if (effects.outdated.empty()) effects.outdated_debit = debit;
}

// In the order of arrival. A call may cause the next debit, for which it and those behind it wait.
void Allowances::DecideWaiting(const EntryPtr& entry, Instant now, Effects& effects) {
  std::vector<CallPtr> waiting = std::exchange(entry->waiting, {});
  waiting_ -= waiting.size();
  for (CallPtr& call : waiting) {
    if (!entry->gone) {
      Decide(entry, call, Asked(*entry->NeedOf(call->charges), *entry, now), effects);
    }
    if (call != nullptr) effects.for_store.push_back(std::move(call));
  }
}

void Allowances::GiveBack(std::vector<Charge> charges, Deadline deadline) {
  const auto host = host_.lock();
  if (host == nullptr) return forfeited_.Add(Count(charges));
  returns_.Add();
  store_.Adjust(charges, host->NewToken(), store_.Now(), deadline,
                [this, host, charges](const Status& answer) {
                  // After an error the return may count or not; it is not sent again.
                  (answer ? returned_ : forfeited_).Add(Count(charges));
                  if (answer) host->CameBack(charges);
                });
}

}  // namespace weir
