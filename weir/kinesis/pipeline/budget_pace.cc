#include "weir/kinesis/pipeline/budget_pace.h"

#include <algorithm>

namespace weir::kinesis {
namespace {

/// Requests are paced once less than the first fraction of the bucket is left, until a turn finds
/// at least the second fraction.
constexpr double kShortBelow = 0.7;
constexpr double kNearlyFull = 0.95;
/// At this level and below it, turns are kLongest apart.
constexpr double kLongestUpTo = 0.5;
/// A turn changes the spacing by no more than this factor, since other producers learn of the
/// change only in their own turns.
constexpr double kMaxChange = 1.6;
/// The bounds of the wait after a turn, in units of the spacing. A producer that needs less than
/// its share waits at least a quarter; a producer that took more because of a large record waits at
/// most two.
constexpr double kMinWait = 0.25;
constexpr double kMaxWait = 2;
/// A budget request is due this long before its record expires.
constexpr nanoseconds kBeforeExpiry = milliseconds(200);

double FractionOf(std::size_t amount, std::size_t whole) {
  return static_cast<double>(amount) / static_cast<double>(std::max<std::size_t>(whole, 1));
}

/// Returns the filled part of the bucket: that of records or of bytes, whichever is smaller.
double LevelOf(const BudgetAmount& left, const BudgetAmount& capacity) {
  return std::min(FractionOf(left.records, capacity.records),
                  FractionOf(left.bytes, capacity.bytes));
}

/// Returns `from` minus `amount`, or 0 if `amount` is larger.
std::size_t SubtractSaturated(std::size_t from, std::size_t amount) {
  return from - std::min(from, amount);
}

nanoseconds ScaledBy(nanoseconds time, double factor) {
  return nanoseconds(static_cast<std::int64_t>(static_cast<double>(time.count()) * factor));
}

/// Returns the part of the balance that one turn takes, at least one record and one byte.
BudgetAmount TargetOf(const BudgetBalance& balance) {
  return {.records = std::max<std::size_t>(balance.left.records / BudgetPace::kPart, 1),
          .bytes = std::max<std::size_t>(balance.left.bytes / BudgetPace::kPart, 1)};
}

/// Returns the spacing of turns at this level. The fuller the bucket, the fewer producers take from
/// it, and the shorter the spacing.
nanoseconds SpacingAt(double level) {
  const double emptiness = std::clamp((1 - level) / (1 - kLongestUpTo), 0.0, 1.0);
  return ScaledBy(BudgetPace::kLongest, emptiness * emptiness);
}

}  // namespace

BudgetAmount BudgetPace::portion() const {
  if (!is_second_) return {.records = 1, .bytes = target_.bytes};
  return {.records = SubtractSaturated(target_.records, asked_.records),
          .bytes = SubtractSaturated(target_.bytes, asked_.bytes)};
}

Instant BudgetPace::NextDue(Instant expires) const {
  if (is_second_) return began_;
  const Instant earliest = std::min(began_ + ScaledBy(spacing_, used_fraction_), next_);
  return std::clamp(expires - kBeforeExpiry, earliest, next_);
}

void BudgetPace::OnUnpaced(const BudgetRequest& request, const BudgetDecision& decision,
                           Instant now) {
  if (!decision.balance) return;
  BudgetAmount left = decision.balance->left;
  if (decision.granted) {
    left = {.records = SubtractSaturated(left.records, request.records),
            .bytes = SubtractSaturated(left.bytes, request.bytes)};
  }
  const double level = LevelOf(left, decision.balance->capacity);
  if (level >= kShortBelow) return;
  paced_ = true;
  is_second_ = false;
  target_ = TargetOf(*decision.balance);
  used_fraction_ = 1;
  began_ = now;
  next_ = now + ScaledBy(spacing_, rng_.Unit());
}

bool BudgetPace::OnBalance(const BudgetBalance& balance) {
  const double level = LevelOf(balance.left, balance.capacity);
  if (level >= kNearlyFull) {
    spacing_ = std::max(spacing_ / 4, kShortest);
    return false;
  }
  const nanoseconds steady = std::clamp(SpacingAt(level), ScaledBy(spacing_, 1 / kMaxChange),
                                        ScaledBy(spacing_, kMaxChange));
  spacing_ = std::clamp(steady, kShortest, kLongest);
  target_ = TargetOf(balance);
  return true;
}

void BudgetPace::OnRequest(Instant now) {
  if (!paced_ || is_second_) return;
  began_ = now;
  used_fraction_ = 0;
}

// If the store is unavailable the decision has no balance, and the producer continues with its
// previous share.
void BudgetPace::OnDecision(const BudgetRequest& request, const BudgetDecision& decision,
                            bool has_more, Instant now) {
  if (!paced_) return OnUnpaced(request, decision, now);
  if (!is_second_) {
    paced_ = !decision.balance || OnBalance(*decision.balance);
    asked_ = {.records = request.records, .bytes = request.bytes};
  }
  if (decision.granted) {
    used_fraction_ += std::max(FractionOf(request.records, target_.records),
                               FractionOf(request.bytes, target_.bytes));
  } else {
    // After a refusal the next turn does not begin at once.
    used_fraction_ = std::max(used_fraction_, kMinWait);
  }
  if (!is_second_ && paced_ && decision.granted && has_more && used_fraction_ < 1) {
    is_second_ = true;
  } else {
    EndTurn();
  }
}

// The wait of each turn is random: turns that nearly coincide would otherwise stay together.
void BudgetPace::EndTurn() {
  is_second_ = false;
  const double jitter = 0.6 + 0.8 * rng_.Unit();
  next_ = began_ + ScaledBy(spacing_, std::clamp(used_fraction_, kMinWait, kMaxWait) * jitter);
}

}  // namespace weir::kinesis
