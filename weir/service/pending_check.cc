#include "weir/service/pending_check.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "weir/service/check_failure.h"

namespace weir::service {
namespace {

// Returns the error with a code that says what the caller should do. UNAVAILABLE replaces UNKNOWN,
// on which Envoy lets requests pass; DATA_LOSS; the codes with which the store refuses the service
// and not the caller; and DEADLINE_EXCEEDED unless the caller's own deadline has passed.
Error ToCaller(Error error, bool caller_has_time) {
  switch (error.code) {
    case Code::kDeadlineExceeded:
      if (!caller_has_time) return error;
      [[fallthrough]];
    case Code::kUnknown:
    case Code::kDataLoss:
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
      error.code = Code::kUnavailable;
      return error;
    default:
      return error;
  }
}

bool IsAcquire(const PlannedDescriptor& planned) {
  return planned.action == PlannedDescriptor::Action::kTake ||
         planned.action == PlannedDescriptor::Action::kLook;
}

// A caller may state any number of hits; a sum of them must not overflow.
std::uint64_t CountedHits(const PlannedDescriptor& planned) {
  return std::min<std::uint64_t>(planned.hits, std::numeric_limits<std::uint32_t>::max());
}

bool IsCorrection(const PlannedDescriptor& planned) {
  return planned.action == PlannedDescriptor::Action::kDebit ||
         planned.action == PlannedDescriptor::Action::kGiveBack;
}

}  // namespace

PendingCheck::PendingCheck(const Terms& terms, CheckKind kind, const grpc::CallHead& head,
                           grpc::CallWriter writer)
    : terms_(terms),
      kind_(kind),
      ids_(head.ids),
      loop_(head.loop),
      thread_(std::this_thread::get_id()),
      caller_deadline_(head.deadline),
      store_deadline_(Deadline::After(loop_.clock(), terms.store_timeout)),
      writer_(std::move(writer)) {
  terms_.counts.begun.Add();
  terms_.in_flight.fetch_add(1, std::memory_order_relaxed);
}

PendingCheck::~PendingCheck() {
  terms_.counts.ended.Add();
  if (writer_) terms_.in_flight.fetch_sub(1, std::memory_order_relaxed);
  if (has_reserved_) terms_.detached.fetch_sub(1, std::memory_order_relaxed);
}

template <class T, class Function>
class PendingCheck::OnThread {
 public:
  OnThread(std::shared_ptr<PendingCheck> check, Function function)
      : check_(std::move(check)), function_(std::move(function)) {}

  void operator()(Result<T> result) {
    if (std::this_thread::get_id() == check_->thread_) return function_(*check_, std::move(result));
    Scheduler& loop = check_->loop_;
    loop.Post([check = std::move(check_), function = std::move(function_),
               result = std::move(result)]() mutable { function(*check, std::move(result)); });
  }

 private:
  std::shared_ptr<PendingCheck> check_;
  [[no_unique_address]] Function function_;
};

template <class T, class Function>
Done<T> PendingCheck::Here(Function function) {
  using Receiver = OnThread<T, Function>;
  static_assert(!std::is_empty_v<Function> || sizeof(Receiver) == 2 * sizeof(void*));
  return Receiver(shared_from_this(), std::move(function));
}

void PendingCheck::Start(DescriptorPlans plan, ActiveRulesPtr rules) {
  plan_ = std::move(plan);
  rules_ = std::move(rules);
  results_.resize(plan_.size());
  for (const PlannedDescriptor& planned : plan_) {
    if (planned.is_shadow) continue;
    has_acquire_ |= IsAcquire(planned);
    has_enforced_ |= planned.action != Action::kNone;
  }
  ReserveDetachment();
  Begin();
  if (!may_detach_) LeaveOutShadows();
  StartShadows();
  StartCorrections();
  StartTakes(Select(Action::kLook));
  End();
}

PendingCheck::Indices PendingCheck::Select(Action action) const {
  Indices indices;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (plan_[i].action == action && !plan_[i].is_shadow) indices.push_back(i);
  }
  return indices;
}

// Charges without a decision must not delay a decision, and shadow rules must delay neither.
bool PendingCheck::Awaits(const PlannedDescriptor& planned) const {
  if (planned.is_shadow) return !has_enforced_;
  return IsAcquire(planned) || !has_acquire_ || !may_detach_;
}

bool PendingCheck::IsLeftOut(const PlannedDescriptor& planned) const {
  return !may_detach_ && planned.is_shadow && !Awaits(planned);
}

void PendingCheck::LeaveOutShadows() {
  const Error why{Code::kResourceExhausted,
                  "shadow rules of too many earlier requests are undecided"};
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (plan_[i].action == Action::kNone || !IsLeftOut(plan_[i])) continue;
    results_[i].is_undecided = true;
    NoteShadowUndecided(plan_[i], why);
  }
}

void PendingCheck::StartShadows() {
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const PlannedDescriptor& planned = plan_[i];
    if (!planned.is_shadow || !IsAcquire(planned) || IsLeftOut(planned)) continue;
    Begin(planned);
    results_[i].is_pending = true;
    const AcquirePart part = planned.action == Action::kTake ? planned.Part() : planned.Look();
    // If the response does not wait for the decision, no caller does.
    const Deadline deadline =
        Awaits(planned) ? std::min(caller_deadline_, store_deadline_) : store_deadline_;
    terms_.limiter.AcquireAll({.parts = {&part, 1}}, deadline,
                              Here<GroupOutcome>([i](PendingCheck& self, auto outcome) {
                                self.OnShadow(i, outcome);
                                self.End(self.plan_[i]);
                              }));
  }
}

void PendingCheck::StartCorrections() {
  Indices together;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (!IsCorrection(plan_[i]) || IsLeftOut(plan_[i])) continue;
    // Limits in the store may be missing or damaged.
    if (plan_[i].is_shadow || plan_[i].target == nullptr) {
      Correct({i});
    } else {
      together.push_back(i);
    }
  }
  if (!together.empty()) Correct(std::move(together));
}

void PendingCheck::Correct(Indices indices) {
  std::vector<AcquirePart> parts;
  const PlannedDescriptor& first = plan_[indices.front()];
  for (const std::size_t i : indices) {
    parts.push_back(plan_[i].Correction());
    results_[i].is_pending = !Awaits(first);
  }
  Begin(first);
  terms_.limiter.Debit(
      parts, store_deadline_,
      Here<void>([indices = std::move(indices)](PendingCheck& self, const Status& status) {
        self.OnCorrected(indices, status);
        self.End(self.plan_[indices.front()]);
      }));
}

// One descriptor that cannot be charged must not save the others from their charges.
void PendingCheck::OnCorrected(const Indices& indices, const Status& status) {
  const PlannedDescriptor& first = plan_[indices.front()];
  if (status) {
    has_corrected_ |= !first.is_shadow;
    for (const std::size_t i : indices) Settle(i);
    return;
  }
  // Of the errors of a request, only kDataLoss and partial ones may hide a charge that was made.
  const Error& error = status.error();
  const bool was_not_made =
      IsOfRequest(error) && error.code != Code::kDataLoss && !error.is_partial;
  if (was_not_made && indices.size() > 1) {
    for (const std::size_t i : indices) Correct({i});
    return;
  }
  for (const std::size_t i : indices) {
    results_[i].is_undecided = true;
    Settle(i);
  }
  if (first.is_shadow) return NoteShadowUndecided(first, error);
  has_corrected_ |= error.is_partial;
  NoteLostCharge(error);
}

// A look that finds too little refuses the takes as well: looks come first.
void PendingCheck::StartTakes(const Indices& looks) {
  const Indices takes = Select(Action::kTake);
  Indices all = looks;
  all.insert(all.end(), takes.begin(), takes.end());
  if (!all.empty()) Acquire(std::move(all), /*only_look=*/!looks.empty());
}

void PendingCheck::Acquire(Indices indices, bool only_look) {
  asked_ = std::move(indices);
  only_looks_ = only_look;
  absl::InlinedVector<AcquirePart, 2> parts;
  for (const std::size_t i : asked_) {
    parts.push_back(only_look ? plan_[i].Look() : plan_[i].Part());
  }
  Begin();
  terms_.limiter.AcquireAll({.parts = parts}, std::min(caller_deadline_, store_deadline_),
                            Here<GroupOutcome>([](PendingCheck& self, auto outcome) {
                              self.OnOutcome(std::move(outcome));
                              self.End();
                            }));
}

void PendingCheck::OnOutcome(Result<GroupOutcome> outcome) {
  if (!outcome) {
    // An error that a client can cause by the values that it chooses must not reach Envoy: Envoy
    // lets requests with errors pass.
    if (IsOfRequest(outcome.error())) return OnUndecided(outcome.error());
    error_ = std::move(outcome.error());
    return;
  }
  is_unprotected_ |= outcome->outcome.unprotected();
  const bool is_over = Record(asked_, *outcome);
  if (is_over || !outcome->outcome.admitted()) {
    is_refused_ = true;
    // No limit was exceeded: other requests wait for a bucket, or other processes write to it.
    if (!is_over) RefuseRequested();
    return;
  }
  if (!only_looks_) return;
  // The looks keep their results. The takes get new results from the request that follows.
  if (Indices takes = Select(Action::kTake); !takes.empty()) Acquire(std::move(takes), false);
}

void PendingCheck::OnUndecided(const Error& error) {
  terms_.counts.undecided.Add();
  if (error.part) asked_ = {asked_[*error.part]};
  NoteUndecided(asked_.size() == 1 ? plan_[asked_.front()].rule : nullptr, error);
  is_refused_ = true;
  RefuseRequested();
  for (const std::size_t i : asked_) results_[i].is_undecided = true;
}

bool PendingCheck::Record(std::span<const std::size_t> indices, const GroupOutcome& outcome) {
  if (outcome.targets.empty()) return false;  // admitted without a charge
  bool is_over = false;
  for (std::size_t n = 0; n < indices.size(); ++n) {
    const PlannedDescriptor& planned = plan_[indices[n]];
    DescriptorResult& result = results_[indices[n]];
    result.state = StateOf(planned, outcome.targets[n], outcome.outcome.decision());
    result.is_over = result.state && result.state->is_over && !planned.is_shadow;
    is_over |= result.is_over;
  }
  return is_over;
}

void PendingCheck::RefuseRequested() {
  for (const std::size_t i : asked_) results_[i].is_over = true;
}

// Nothing that happens to a shadow rule affects the other descriptors.
void PendingCheck::OnShadow(std::size_t index, const Result<GroupOutcome>& outcome) {
  const PlannedDescriptor& planned = plan_[index];
  if (outcome) {
    Record({&index, 1}, *outcome);
  } else {
    results_[index].is_undecided = true;
    NoteShadowUndecided(planned, outcome.error());
  }
  Settle(index);
}

void PendingCheck::Settle(std::size_t index) {
  results_[index].is_pending = false;
  // If the response was sent, its rules are counted, except in an error.
  const PlannedDescriptor& planned = plan_[index];
  const bool is_late = awaited_ == 0 && !error_ && planned.rule != nullptr && !planned.is_replaced;
  if (is_late) CountRule(planned, results_[index]);
}

void PendingCheck::End() {
  if (--awaited_ > 0) return;
  Respond();
  if (unawaited_ > 0) Detach();
}

void PendingCheck::End(const PlannedDescriptor& planned) {
  if (Awaits(planned)) return End();
  --unawaited_;
}

void PendingCheck::ReserveDetachment() {
  const auto may_outlive = [this](const PlannedDescriptor& planned) {
    return planned.action != Action::kNone && !Awaits(planned);
  };
  if (std::ranges::none_of(plan_, may_outlive)) return;
  may_detach_ = terms_.detached.load(std::memory_order_relaxed) < terms_.max_detached;
  if (!may_detach_) return;
  has_reserved_ = true;
  terms_.detached.fetch_add(1, std::memory_order_relaxed);
}

void PendingCheck::Detach() {
  writer_.reset();
  terms_.in_flight.fetch_sub(1, std::memory_order_relaxed);
}

void PendingCheck::Respond() {
  // If some of the charges were made, a retry after an error would make them again.
  if (!error_ && !has_acquire_ && !has_corrected_) error_ = std::move(lost_);
  if (error_) return RespondWithError(*std::move(error_));
  CountRules();
  if (is_unprotected_ && !is_refused_) terms_.counts.unprotected.Add();
  (is_refused_ ? terms_.counts.over_limit : terms_.counts.ok).Add();
  writer_->Reply(kind_ == CheckKind::kShouldRateLimit ? ResponseBytes(plan_, results_, is_refused_)
                                                      : ResponseBytes(is_refused_));
}

void PendingCheck::RespondWithError(Error error) {
  terms_.counts.errors.Add();
  const Instant now = loop_.clock().Now();
  const FailureReason reason = ReasonOf(error);
  error = ToCaller(std::move(error), !caller_deadline_.ExpiredAt(now));
  terms_.log.Failed(ids_, reason, error, now);
  const grpc::ErrorDetails details = DetailsOf(error, reason);
  writer_->Finish(Fail(std::move(error)), details);
}

void PendingCheck::NoteUndecided(const rules::Rule* rule, const Error& error) {
  terms_.log.Undecided(ids_, rule == nullptr ? std::string_view() : rule->name, error.message,
                       loop_.clock().Now());
}

void PendingCheck::NoteShadowUndecided(const PlannedDescriptor& planned, const Error& error) {
  terms_.log.ShadowUndecided(ids_, planned.rule->name, error.message, loop_.clock().Now());
}

void PendingCheck::NoteLostCharge(const Error& error) {
  if (!lost_) terms_.counts.lost_charges.Add();
  lost_ = error;
  terms_.log.ChargeLost(ids_, error, loop_.clock().Now());
}

void PendingCheck::CountRules() {
  bool has_counted_domain = false;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const PlannedDescriptor& planned = plan_[i];
    if (planned.rule == nullptr || planned.is_replaced) continue;
    if (!results_[i].is_pending) CountRule(planned, results_[i]);
    // The check before a report has counted the request.
    if (kind_ == CheckKind::kReport || std::exchange(has_counted_domain, true)) continue;
    DomainCounts& domain = *rules_->CountsOf(*planned.rule).domain;
    (is_refused_ ? domain.refused : domain.admitted).Add();
  }
}

void PendingCheck::CountRule(const PlannedDescriptor& planned, const DescriptorResult& result) {
  RuleCounts& counts = *rules_->CountsOf(*planned.rule).rule;
  if (result.is_undecided) return counts.undecided.Add();
  if (result.is_over) {
    counts.over.Add();
    return counts.hits_over.Add(CountedHits(planned));
  }
  if (planned.is_shadow && result.state && result.state->is_over) {
    counts.shadow_over.Add();
    return counts.hits_shadow_over.Add(CountedHits(planned));
  }
  // In a request that is refused, the takes within their limits were not charged.
  const bool is_left_out = is_refused_ && !planned.is_shadow && IsAcquire(planned);
  if (is_left_out || planned.action == Action::kGiveBack) return;
  counts.within.Add();
  counts.hits_within.Add(CountedHits(planned));
}

}  // namespace weir::service
