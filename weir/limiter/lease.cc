#include "weir/limiter/lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "weir/limiter/charges.h"
#include "weir/limiter/state.h"
#include "weir/runtime/await.h"

namespace weir {
namespace {

bool Same(std::span<const Charge> a, std::span<const Charge> b) {
  return std::ranges::equal(a, b, [](const Charge& x, const Charge& y) {
    return x.target == y.target && x.amounts == y.amounts;
  });
}

}  // namespace

Lease::Lease(Limiter& limiter, std::vector<Charge> charges)
    : limiter_(&limiter), charges_(std::move(charges)), exceptions_(std::uncaught_exceptions()) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  if (active()) Leave();
  limiter_ = std::exchange(other.limiter_, nullptr);
  charges_ = std::exchange(other.charges_, {});
  unsettled_ = std::exchange(other.unsettled_, {});
  return *this;
}

std::span<const Charge> Lease::charges() const {
  Fold();
  return charges_;
}

Status Lease::Adjust(const Amounts& amounts) {
  return Await<void>([&](Done<void> done) { Adjust(amounts, std::move(done)); });
}

void Lease::Adjust(const Amounts& amounts, Done<void> done) {
  Result<Adjustments> plan = Plan(amounts);
  if (!plan) return done(Fail(std::move(plan.error())));
  if (plan->empty()) return done({});
  limiter_->state_->Send(std::move(*plan), std::move(done));
}

Status Lease::Release(const Amounts& amounts) {
  Amounts turned = amounts;
  for (auto& [limit, tokens] : turned) {
    if (tokens < Tokens(0)) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("limit {} is to give back {} tokens; an amount must not be negative",
                              limit, FormatTokens(tokens.milli())));
    }
    tokens = Tokens::Milli(-tokens.milli());
  }
  return Adjust(turned);
}

Status Lease::Commit() {
  WEIR_RETURN_IF_ERROR(Settle());
  End();
  return {};
}

Status Lease::Cancel() {
  WEIR_RETURN_IF_ERROR(Settle());
  std::vector<Charge> all = Opposite(charges_);
  if (!all.empty()) {
    const AdjustmentPtr back = Begin(std::move(all));
    WEIR_RETURN_IF_ERROR(
        Await<void>([&](Done<void> done) { limiter_->state_->Send({back}, std::move(done)); }));
  }
  End();
  return {};
}

Status Lease::CheckActive() const {
  if (active()) return {};
  return Fail(Code::kFailedPrecondition,
              "the lease has ended or was moved from; acquire again for a new one");
}

// What must be sent for this adjust: those in doubt, then this one; or this one again alone.
Result<Lease::Adjustments> Lease::Plan(const Amounts& amounts) {
  WEIR_RETURN_IF_ERROR(CheckActive());
  Fold();
  WEIR_ASSIGN_OR_RETURN(std::vector<Charge> deltas, MakeDeltas(charges_, amounts));
  if (deltas.empty()) return Adjustments{};
  Adjustments plan = InDoubt();
  for (const AdjustmentPtr& doubt : plan) {
    if (Same(doubt->deltas, deltas)) return Adjustments{doubt};
  }
  WEIR_RETURN_IF_ERROR(CheckHeld(charges_, deltas));
  plan.push_back(Begin(std::move(deltas)));
  return plan;
}

AdjustmentPtr Lease::Begin(std::vector<Charge> deltas) {
  AdjustmentPtr adjustment = limiter_->state_->NewAdjustment(std::move(deltas));
  AddNegative(charges_, adjustment->deltas);
  unsettled_.push_back(adjustment);
  return adjustment;
}

// Blocks until nothing is in doubt.
Status Lease::Settle() {
  WEIR_RETURN_IF_ERROR(CheckActive());
  Fold();
  Adjustments doubts = InDoubt();
  if (doubts.empty()) return {};
  Status answer = Await<void>(
      [&](Done<void> done) { limiter_->state_->Send(std::move(doubts), std::move(done)); });
  Fold();
  if (InDoubt().empty()) return {};
  return answer;
}

Lease::Adjustments Lease::InDoubt() const {
  Adjustments doubts;
  std::ranges::copy_if(unsettled_, std::back_inserter(doubts), [](const AdjustmentPtr& one) {
    return one->state == Adjustment::State::kDoubt;
  });
  return doubts;
}

// Takes the ends of adjusts into what the lease stands for.
void Lease::Fold() const {
  std::erase_if(unsettled_, [&](const AdjustmentPtr& one) {
    const auto state = one->state.load();
    if (state == Adjustment::State::kCounts) AddPositive(charges_, one->deltas);
    if (state == Adjustment::State::kRefused) RestoreNegative(charges_, one->deltas);
    return state == Adjustment::State::kCounts || state == Adjustment::State::kRefused;
  });
}

void Lease::End() {
  limiter_ = nullptr;
  charges_.clear();
  unsettled_.clear();
}

// Touches the Limiter only where there is something to send: a waiter may be answered, and drop its
// lease, at the moment at which the Limiter goes.
void Lease::Leave() {
  Fold();
  if (std::uncaught_exceptions() > exceptions_) {
    limiter_->state_->GiveBack(charges_);
  } else if (Adjustments doubts = InDoubt(); !doubts.empty()) {
    limiter_->state_->Send(std::move(doubts), [](const Status&) {});
  }
  End();
}

}  // namespace weir
