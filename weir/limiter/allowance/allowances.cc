#include "weir/limiter/allowance/allowances.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "weir/limiter/allowance/allowances_state.h"

namespace weir {
namespace {

std::uint64_t SumOfAmounts(Allowance::View amounts) {
  return static_cast<std::uint64_t>(SumOf(amounts));
}

// Returns the deadline of the request that waits for the debit. If no request waits, the debit has
// the whole time for which its tokens could be spent, to which BeginDebit bounds the deadline.
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

std::optional<Decision> Allowances::TryDecide(const std::vector<Charge>& charges,
                                              Deadline deadline) {
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
    const AllowanceRequest request(*std::move(need), *entry, now);
    if (!entry->allowance.CanDecide(request.need, request.held, now)) return std::nullopt;
    entry->allowance.Want(request.need, now);
    const Allowance::Step step = entry->allowance.Ask(request.need, request.held, now);
    if (step.debit) debit = BeginDebit(entry, DebitDeadline(step, deadline), now);
    decision = MakeDecision(*entry, charges, request, step);
  }
  if (debit) SendDebit(*std::move(debit));
  return decision;
}

bool Allowances::TryTake(CallPtr& call) {
  if (!MayBeServed(call->charges)) return false;
  const Instant now = scheduler_.clock().Now();
  PendingActions actions;
  Stripe& stripe = StripeOf(*call->charges.front().target);
  {
    const MutexLock lock(stripe.mutex);
    const EntryPtr entry = FindOrMake(stripe.entries, call->charges, now, actions);
    if (entry != nullptr) {
      const AllowanceRequest request(*entry->NeedOf(call->charges), *entry, now);
      if (MayDecide(*entry, *call, request)) DecideCall(entry, call, request, actions);
    }
  }
  const bool taken = call == nullptr;
  Perform(std::move(actions));
  return taken;
}

// If the entry of the pair has other limits, the entry is removed and its tokens are returned:
// requests under the new limits must not spend tokens of the old ones.
Allowances::EntryPtr Allowances::FindOrMake(Entries& entries, const std::vector<Charge>& charges,
                                            Instant now, PendingActions& actions) {
  if (closed_) return nullptr;
  const TargetPtr& own = charges.front().target;
  const auto found = entries.by_own.find(own);
  if (found != entries.by_own.end()) {
    if (found->second->NeedOf(charges)) return found->second;
    Remove(entries, EntryPtr(found->second), now, actions);
  }
  if (size_ >= max_) return nullptr;
  ++size_;
  actions.made = std::make_shared<AllowanceEntry>(TargetsOf(charges));
  actions.made->resolved_at = charges.front().resolved_at;
  entries.by_own.emplace(own, actions.made);
  return actions.made;
}

void Allowances::Remove(Entries& entries, const EntryPtr& entry, Instant now,
                        PendingActions& actions) {
  entries.by_own.erase(entry->own);
  --size_;
  entry->gone = true;
  RecordReturns(entry, entry->allowance.Drop(now), actions);
}

// Two kinds of calls are decided here only if their tokens are held: a call that may wait for
// tokens, because only the wait queue preserves the order of waiting calls; and a call whose
// deadline has passed, because its debit would have no time.
bool Allowances::MayDecide(AllowanceEntry& entry, const PendingAcquire& call,
                           const AllowanceRequest& request) {
  const bool must_be_held = call.wait != nullptr || call.deadline.ExpiredAt(request.now);
  if (must_be_held && !Covers(request.held, request.need)) return false;
  entry.allowance.Want(request.need, request.now);
  return true;
}

// A call whose deadline is before that of the debit does not wait for it.
void Allowances::DecideCall(const EntryPtr& entry, CallPtr& call, const AllowanceRequest& request,
                            PendingActions& actions) {
  const Allowance::Step step = entry->allowance.Ask(request.need, request.held, request.now);
  if (step.debit)
    actions.debit = BeginDebit(entry, DebitDeadline(step, call->deadline), request.now);
  switch (step.verdict) {
    case Allowance::Verdict::kCallStore:
      return;
    case Allowance::Verdict::kWait:
      if (call->deadline < entry->deadline || waiting_ >= max_waiting_) return;
      ++waiting_;
      entry->waiting.push_back(std::move(call));
      return;
    case Allowance::Verdict::kSpent:
    case Allowance::Verdict::kRefused:
      Decision decision = MakeDecision(*entry, call->charges, request, step);
      actions.decided.emplace_back(std::move(call), std::move(decision));
  }
}

Decision Allowances::MakeDecision(const AllowanceEntry& entry, const std::vector<Charge>& charges,
                                  const AllowanceRequest& request, const Allowance::Step& step) {
  decisions_.Add();
  const bool is_spent = step.verdict == Allowance::Verdict::kSpent;
  if (is_spent) spent_.Add(SumOfAmounts(request.need));
  const auto wait =
      is_spent ? milliseconds(0) : std::chrono::ceil<milliseconds>(step.retry_at - request.now);
  return entry.DecisionOf(charges, request.held, wait);
}

// The deadline of the debit is not after that of any call that waits for it, so that no call waits
// beyond its own deadline.
Allowances::Debit Allowances::BeginDebit(const EntryPtr& entry, Deadline deadline, Instant now) {
  const Allowance& allowance = entry->allowance;
  entry->deadline = std::min(deadline, Deadline::At(allowance.debit_ends()));
  for (const CallPtr& other : entry->waiting) {
    entry->deadline = std::min(entry->deadline, other->deadline);
  }
  return {entry, entry->ChargesOf(allowance.debit()), now, entry->deadline};
}

// If the entry is removed while a debit is in flight, the tokens of that debit are returned when
// its result arrives (OnDebitResult).
void Allowances::RecordReturns(const EntryPtr& entry, const Allowance::Departures& departures,
                               PendingActions& actions) {
  forfeited_.Add(static_cast<std::uint64_t>(departures.forfeited));
  for (const Allowance::Return& back : departures.returns) {
    actions.returns.emplace_back(entry->ChargesOf(back), Deadline::At(back.deadline));
  }
}

void Allowances::Perform(PendingActions actions) {
  for (auto& [charges, deadline] : actions.returns) GiveBack(std::move(charges), deadline);
  if (actions.made != nullptr) WakeLater(actions.made);
  if (actions.debit) SendDebit(*std::move(actions.debit));
  if (actions.nothing_for_host()) return;
  const auto host = host_.lock();
  for (auto& [call, decision] : actions.decided) host->Serve(std::move(call), std::move(decision));
  for (CallPtr& call : actions.for_store) host->CallStore(std::move(call));
  for (CallPtr& call : actions.outdated) host->RenewCall(std::move(call));
  if (auto& renewal = actions.renewal) {
    host->RenewTargets(std::move(renewal->targets), renewal->deadline);
  }
}

// The task keeps the host, and thereby this object, alive while it runs. It does not keep an entry
// that was replaced: if the requests on a bucket alternate between two sets of limits, the replaced
// entries would pile up.
void Allowances::WakeLater(const EntryPtr& entry) {
  const Instant at = scheduler_.clock().Now() + entry->allowance.quarter();
  scheduler_.At(at, [this, host = host_, waking = std::weak_ptr(entry)] {
    const auto alive = host.lock();
    const EntryPtr entry_to_wake = alive ? waking.lock() : nullptr;
    if (entry_to_wake != nullptr) WakeEntry(entry_to_wake);
  });
}

void Allowances::WakeEntry(const EntryPtr& entry) {
  PendingActions actions;
  bool gone = true;
  {
    Stripe& stripe = StripeOf(*entry->own);
    const MutexLock lock(stripe.mutex);
    const Instant now = scheduler_.clock().Now();
    if (!entry->gone) {
      RecordReturns(entry, entry->allowance.Wake(now), actions);
      entry->gone = entry->allowance.idle(now);
      if (entry->gone) stripe.entries.by_own.erase(entry->own);
      size_ -= entry->gone;
      gone = entry->gone;
    }
  }
  Perform(std::move(actions));
  if (!gone) WakeLater(entry);
}

void Allowances::Close() {
  closed_ = true;
  PendingActions actions;
  for (Stripe& stripe : stripes_->all) {
    const MutexLock lock(stripe.mutex);
    for (const auto& [own, entry] : stripe.entries.by_own) {
      entry->gone = true;
      RecordReturns(entry, entry->allowance.Drop(scheduler_.clock().Now()), actions);
    }
    stripe.entries.by_own.clear();
  }
  size_ = 0;
  Perform(std::move(actions));
}

AllowanceStats Allowances::stats() const {
  // spent_, returned_ and forfeited_ are read before debited_, so that `out` is not negative.
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
