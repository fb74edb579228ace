#include "weir/limiter/lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "weir/limiter/adjust_sender.h"
#include "weir/limiter/charges/held_charges.h"
#include "weir/runtime/await.h"
#include "weir/runtime/run_on.h"

namespace weir {

Lease::Lease(std::shared_ptr<AdjustSender> sender, std::vector<Charge> charges)
    : sender_(std::move(sender)),
      charges_(std::move(charges)),
      exceptions_(std::uncaught_exceptions()) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  if (active()) EndWithoutWaiting();
  sender_ = std::move(other.sender_);
  charges_ = std::exchange(other.charges_, {});
  unsettled_ = std::exchange(other.unsettled_, {});
  exceptions_ = std::uncaught_exceptions();
  spent_ = other.spent_;
  return *this;
}

std::span<const Charge> Lease::charges() const {
  ApplyResults();
  return charges_;
}

Status Lease::Adjust(const Amounts& amounts) {
  return AwaitUnlessInCallback<void>(
      [&](Done<void> done) { StartAdjust(amounts, std::move(done)); });
}

void Lease::Adjust(const Amounts& amounts, Done<void> done) {
  StartAdjust(amounts, OnCallbacks(std::move(done)));
}

Done<void> Lease::OnCallbacks(Done<void> done) const {
  return active() ? RunOn(sender_->callbacks(), std::move(done)) : std::move(done);
}

void Lease::StartAdjust(const Amounts& amounts, Done<void> done) {
  Result<Adjustments> plan = PlanAdjust(amounts);
  if (!plan) return done(Fail(std::move(plan.error())));
  if (plan->empty()) return done({});
  sender_->SendRun({.unsent = std::move(*plan), .done = std::move(done)});
}

Status Lease::Release(const Amounts& amounts) {
  Amounts negated = amounts;
  for (auto& [limit, tokens] : negated) {
    if (tokens < Tokens(0)) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("limit {} is to give back {} tokens; an amount must not be negative",
                              limit, FormatTokens(tokens.milli())));
    }
    tokens = Tokens::Milli(-tokens.milli());
  }
  return Adjust(negated);
}

Status Lease::Settle() {
  return AwaitUnlessInCallback<void>([&](Done<void> done) { StartSettle(std::move(done)); });
}

void Lease::Settle(Done<void> done) { StartSettle(OnCallbacks(std::move(done))); }

void Lease::StartSettle(Done<void> done) {
  if (Status checked = CheckActive(); !checked) return done(std::move(checked));
  ApplyResults();
  Adjustments doubts = TakeDoubts();
  if (doubts.empty()) return done({});
  sender_->SendRun({.unsent = std::move(doubts), .done = std::move(done), .settles = true});
}

Status Lease::Commit() {
  WEIR_RETURN_IF_ERROR(SettleAll());
  Deactivate();
  return {};
}

// The return of the tokens is an adjust like any other. If this adjust is in doubt, charges_ holds
// no tokens any more, so a repeated Cancel only sends the adjust again under its id.
Status Lease::Cancel() {
  WEIR_RETURN_IF_ERROR(SettleAll());
  std::vector<Charge> all = OppositeOf(charges_);
  if (!all.empty()) {
    // Checked before the adjust is added: AwaitUnlessInCallback would fail without sending it.
    if (CallbackScope::IsActive()) return Fail(internal::BlocksCallbacks());
    const AdjustmentPtr back = AddUnsettled(std::move(all));
    WEIR_RETURN_IF_ERROR(AwaitUnlessInCallback<void>(
        [&](Done<void> done) { sender_->SendRun({.unsent = {back}, .done = std::move(done)}); }));
  }
  Deactivate();
  return {};
}

Status Lease::CheckActive() const {
  if (!active()) {
    return Fail(Code::kFailedPrecondition,
                "the lease has ended or was moved from; acquire again for a new one");
  }
  if (sender_->closed()) {
    return Fail(Code::kFailedPrecondition,
                "the Limiter of the lease was destroyed; the tokens of the lease stay taken");
  }
  return {};
}

Result<Lease::Adjustments> Lease::PlanAdjust(const Amounts& amounts) {
  WEIR_RETURN_IF_ERROR(CheckActive());
  ApplyResults();
  WEIR_ASSIGN_OR_RETURN(std::vector<Charge> deltas, MakeDeltas(charges_, amounts));
  if (deltas.empty()) return Adjustments{};
  // charges_ excludes the tokens of returns in flight or in doubt, so none is returned twice.
  WEIR_RETURN_IF_ERROR(CheckHeld(charges_, deltas));
  if (unsettled_.size() >= kMaxUnsettled) {
    return Fail(
        Code::kFailedPrecondition,
        fmt::format("{} adjusts of the lease are in flight or in doubt; call Settle() first",
                    unsettled_.size()));
  }
  Adjustments plan = TakeDoubts();
  plan.push_back(AddUnsettled(std::move(deltas)));
  return plan;
}

AdjustmentPtr Lease::AddUnsettled(std::vector<Charge> deltas) {
  AdjustmentPtr adjustment = sender_->NewAdjustment(std::move(deltas));
  AddNegative(charges_, adjustment->deltas);
  unsettled_.push_back(adjustment);
  return adjustment;
}

// An adjust with a definite error does not keep the lease from ending, so only an adjust that is
// still in doubt counts as an error.
Status Lease::SettleAll() {
  WEIR_RETURN_IF_ERROR(CheckActive());
  ApplyResults();
  if (!HasDoubts()) return {};
  Status settled = Settle();
  ApplyResults();
  if (HasDoubts()) return settled;
  return {};
}

bool Lease::HasDoubts() const {
  return std::ranges::any_of(
      unsettled_, [](const AdjustmentPtr& one) { return one->state == Adjustment::State::kDoubt; });
}

Lease::Adjustments Lease::TakeDoubts() {
  Adjustments doubts;
  for (const AdjustmentPtr& one : unsettled_) {
    auto expected = Adjustment::State::kDoubt;
    if (!one->state.compare_exchange_strong(expected, Adjustment::State::kUnsettled)) continue;
    doubts.push_back(one);
  }
  return doubts;
}

// AddUnsettled has already subtracted the tokens that an adjust returns. This function adds the
// tokens that the adjust took, or restores the subtracted tokens if the adjust was refused.
void Lease::ApplyResults() const {
  std::erase_if(unsettled_, [&](const AdjustmentPtr& one) {
    const auto state = one->state.load();
    if (state == Adjustment::State::kCounts) AddPositive(charges_, one->deltas);
    if (state == Adjustment::State::kRefused) RestoreNegative(charges_, one->deltas);
    return state != Adjustment::State::kUnsettled && state != Adjustment::State::kDoubt;
  });
}

void Lease::Deactivate() {
  sender_.reset();
  charges_.clear();
  unsettled_.clear();
}

void Lease::EndWithoutWaiting() {
  ApplyResults();
  if (sender_->closed()) return Deactivate();
  if (!spent_ && std::uncaught_exceptions() > exceptions_) {
    sender_->GiveBack(charges_);
  } else if (Adjustments doubts = TakeDoubts(); !doubts.empty()) {
    sender_->SendRun({.unsent = std::move(doubts), .done = [](const Status&) {}});
  }
  Deactivate();
}

}  // namespace weir
