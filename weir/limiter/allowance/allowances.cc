#include "weir/limiter/allowance/allowances.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "weir/limiter/allowance/allowances_state.h"

namespace weir {
namespace {

std::uint64_t Count(Allowance::View amounts) { return static_cast<std::uint64_t>(SumOf(amounts)); }

// A debit that no request waits for must not have the deadline of the request that caused it. It
// has the whole time for which its tokens could be spent (Begin).
Deadline DebitDeadline(const Allowance::Step& step, Deadline of_request) {
  return step.verdict == Allowance::Verdict::kWait ? of_request : Deadline::Never();
}

}  // namespace

Allowances::Allowances(BucketStore& store, Scheduler& scheduler, std::size_t max,
                       std::size_t max_waiting)
    : store_(store),
      scheduler_(scheduler),
      max_(max),
      max_waiting_(max_waiting),
      stripes_(std::make_unique<Stripes>()) {}

Allowances::~Allowances() = default;

Allowances::Stripe& Allowances::StripeOf(const Target& own) const {
  return stripes_->all[own.hash % stripes_->all.size()];
}

std::optional<Decision> Allowances::Tell(const std::vector<Charge>& charges, Deadline deadline) {
  const Instant now = scheduler_.clock().Now();
  if (!MayBeServed(charges) || deadline.ExpiredAt(now)) return std::nullopt;
  Stripe& stripe = StripeOf(*charges.front().target);
  std::optional<Decision> decision;
  std::optional<Debit> debit;
  {
    const MutexLock lock(stripe.mutex);
    const auto found = stripe.entries.by_own.find(charges.front().target);
    if (found == stripe.entries.by_own.end()) return std::nullopt;
    const EntryPtr& entry = found->second;
    auto need = entry->NeedOf(charges);
    if (!need) return std::nullopt;
    const Asked asked(*std::move(need), *entry, now);
    if (!entry->allowance.Tells(asked.need, asked.held, now)) return std::nullopt;
    entry->allowance.Want(asked.need, now);
    const Allowance::Step step = entry->allowance.Ask(asked.need, asked.held, now);
    if (step.debit) debit = Begin(entry, DebitDeadline(step, deadline), now);
    decision = Conclude(*entry, charges, asked, step);
  }
  if (debit) Send(*std::move(debit));
  return decision;
}

bool Allowances::Take(CallPtr& call) {
  if (!MayBeServed(call->charges)) return false;
  const Instant now = scheduler_.clock().Now();
  Effects effects;
  Stripe& stripe = StripeOf(*call->charges.front().target);
  {
    const MutexLock lock(stripe.mutex);
    const EntryPtr entry = Find(stripe.entries, call->charges, now, effects);
    if (entry != nullptr) {
      const Asked asked(*entry->NeedOf(call->charges), *entry, now);
      if (MayDecide(*entry, *call, asked)) Decide(entry, call, asked, effects);
    }
  }
  const bool taken = call == nullptr;
  Do(std::move(effects));
  return taken;
}

// If the entry of the pair has other limits, it is removed and its tokens are returned: requests
// under the new limits must not spend tokens of the old ones.
Allowances::EntryPtr Allowances::Find(Entries& entries, const std::vector<Charge>& charges,
                                      Instant now, Effects& effects) {
  if (closed_) return nullptr;
  const TargetPtr& own = charges.front().target;
  const auto found = entries.by_own.find(own);
  if (found != entries.by_own.end()) {
    if (found->second->NeedOf(charges)) return found->second;
    const EntryPtr old = std::move(found->second);
    entries.by_own.erase(found);
    --size_;
    old->gone = true;
    Leave(old, old->allowance.Drop(now), effects);
  }
  if (size_ >= max_) return nullptr;
  ++size_;
  effects.made = std::make_shared<AllowanceEntry>(TargetsOf(charges));
  effects.made->resolved_at = charges.front().resolved_at;
  entries.by_own.emplace(own, effects.made);
  return effects.made;
}

// A call that may wait for tokens must keep its order among waiting calls, which only the wait
// queue does. A call whose deadline has passed would leave its debit no time. Both are decided here
// only if their tokens are held.
bool Allowances::MayDecide(AllowanceEntry& entry, const Call& call, const Asked& asked) {
  const bool only_covered = call.patience != nullptr || call.deadline.ExpiredAt(asked.now);
  if (only_covered && !Covers(asked.held, asked.need)) return false;
  entry.allowance.Want(asked.need, asked.now);
  return true;
}

// A call whose deadline is before that of the debit does not wait for it.
void Allowances::Decide(const EntryPtr& entry, CallPtr& call, const Asked& asked,
                        Effects& effects) {
  const Allowance::Step step = entry->allowance.Ask(asked.need, asked.held, asked.now);
  if (step.debit) effects.debit = Begin(entry, DebitDeadline(step, call->deadline), asked.now);
  switch (step.verdict) {
    case Allowance::Verdict::kAskStore:
      return;
    case Allowance::Verdict::kWait:
      if (call->deadline < entry->deadline || waiting_ >= max_waiting_) return;
      ++waiting_;
      entry->waiting.push_back(std::move(call));
      return;
    case Allowance::Verdict::kSpent:
    case Allowance::Verdict::kRefused:
      Decision decision = Conclude(*entry, call->charges, asked, step);
      effects.decided.emplace_back(std::move(call), std::move(decision));
  }
}

Decision Allowances::Conclude(const AllowanceEntry& entry, const std::vector<Charge>& charges,
                              const Asked& asked, const Allowance::Step& step) {
  decisions_.Add();
  const bool is_spent = step.verdict == Allowance::Verdict::kSpent;
  if (is_spent) spent_.Add(Count(asked.need));
  const auto wait =
      is_spent ? milliseconds(0) : std::chrono::ceil<milliseconds>(step.retry_at - asked.now);
  return entry.DecisionOf(charges, asked.held, wait);
}

// The deadline of the debit is the earliest deadline of the calls that wait for it, so that none of
// them waits beyond its own.
Allowances::Debit Allowances::Begin(const EntryPtr& entry, Deadline deadline, Instant now) {
  const Allowance& allowance = entry->allowance;
  entry->deadline = std::min(deadline, Deadline::At(allowance.debit_ends()));
  for (const CallPtr& other : entry->waiting) {
    entry->deadline = std::min(entry->deadline, other->deadline);
  }
  return {entry, entry->ChargesOf(allowance.debit()), now, entry->deadline};
}

// Tokens of a debit that is in flight for a removed entry are returned when it has its result
// (Answered).
void Allowances::Leave(const EntryPtr& entry, const Allowance::Leaving& leaving, Effects& effects) {
  forfeited_.Add(static_cast<std::uint64_t>(leaving.forfeited));
  for (const Allowance::Return& back : leaving.returns) {
    effects.returns.emplace_back(entry->ChargesOf(back), Deadline::At(back.deadline));
  }
}

void Allowances::Do(Effects effects) {
  for (auto& [charges, deadline] : effects.returns) GiveBack(std::move(charges), deadline);
  if (effects.made != nullptr) WakeLater(effects.made);
  if (effects.debit) Send(*std::move(effects.debit));
  if (effects.nothing_for_host()) return;
  const auto host = host_.lock();
  for (auto& [call, decision] : effects.decided) host->Serve(std::move(call), std::move(decision));
  for (CallPtr& call : effects.for_store) host->AskStore(std::move(call));
  for (CallPtr& call : effects.outdated) host->Renew(std::move(call));
  if (const auto& debit = effects.outdated_debit) {
    host->Renew(debit->entry->targets, debit->deadline);
  }
}

// The task keeps the host, and thereby this object, alive while it runs.
void Allowances::WakeLater(const EntryPtr& entry) {
  const Instant at = scheduler_.clock().Now() + entry->allowance.quarter();
  scheduler_.At(at, [this, host = host_, entry] {
    if (const auto alive = host.lock()) Wake(entry);
  });
}

void Allowances::Wake(const EntryPtr& entry) {
  Effects effects;
  bool gone = true;
  {
    const TargetPtr own = entry->targets.front();
    Stripe& stripe = StripeOf(*own);
    const MutexLock lock(stripe.mutex);
    const Instant now = scheduler_.clock().Now();
    if (!entry->gone) {
      Leave(entry, entry->allowance.Wake(now), effects);
      entry->gone = entry->allowance.idle(now);
      if (entry->gone) stripe.entries.by_own.erase(own);
      size_ -= entry->gone;
      gone = entry->gone;
    }
  }
  Do(std::move(effects));
  if (!gone) WakeLater(entry);
}

void Allowances::Close() {
  closed_ = true;
  Effects effects;
  for (Stripe& stripe : stripes_->all) {
    const MutexLock lock(stripe.mutex);
    for (const auto& [own, entry] : stripe.entries.by_own) {
      entry->gone = true;
      Leave(entry, entry->allowance.Drop(scheduler_.clock().Now()), effects);
    }
    stripe.entries.by_own.clear();
  }
  size_ = 0;
  Do(std::move(effects));
}

AllowanceStats Allowances::stats() const {
  // The tokens that have left are read before the debited tokens, so that `out` is not negative.
  AllowanceStats stats{.decisions = decisions_.Value(),
                       .debits = debits_.Value(),
                       .refused = refused_.Value(),
                       .returns = returns_.Value(),
                       .spent = spent_.Value(),
                       .returned = returned_.Value(),
                       .forfeited = forfeited_.Value(),
                       .debited = debited_.Value(),
                       .pairs = size_};
  stats.out = stats.debited - stats.spent - stats.returned - stats.forfeited;
  return stats;
}

}  // namespace weir
