#include "weir/kinesis/pipeline/budget_pace.h"

#include <algorithm>

namespace weir::kinesis {
namespace {

/// The pace begins if a smaller part of the bucket is left, and ends if a larger part is found.
constexpr double kShortBelow = 0.7;
constexpr double kNearlyFull = 0.95;
/// At this level and below it, turns are kLongest apart.
constexpr double kLongestUpTo = 0.5;
/// A turn changes the spacing by no more than this factor, since other producers learn of the
/// change only in their own turns.
constexpr double kMaxChange = 1.6;
/// The wait after a turn, in units of the spacing: at least a quarter for a producer that needs
/// less than its share, and at most two for one that took more because of a large record.
constexpr double kLeastWait = 0.25;
constexpr double kMaxWait = 2;
/// A budget request is due this long before its record expires.
constexpr nanoseconds kBeforeExpiry = milliseconds(200);

double FractionOf(std::size_t amount, std::size_t of) {
  return static_cast<double>(amount) / static_cast<double>(std::max<std::size_t>(of, 1));
}

/// Returns the filled part of the bucket, of the limit of which less is left.
double LevelOf(const BudgetAmount& left, const BudgetAmount& capacity) {
  return std::min(FractionOf(left.records, capacity.records),
                  FractionOf(left.bytes, capacity.bytes));
}

/// `from` less `amount`, and not less than 0.
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
  const double rest = std::clamp((1 - level) / (1 - kLongestUpTo), 0.0, 1.0);
  return ScaledBy(BudgetPace::kLongest, rest * rest);
}

}  // namespace

BudgetAmount BudgetPace::portion() const {
  if (!is_second_) return {.records = 1, .bytes = target_.bytes};
  return {.records = SubtractSaturated(target_.records, asked_.records),
          .bytes = SubtractSaturated(target_.bytes, asked_.bytes)};
}

Instant BudgetPace::NextDue(Instant expires) const {
  if (is_second_) return began_;
  const Instant fair = std::min(began_ + ScaledBy(spacing_, used_fraction_), next_);
  return std::clamp(expires - kBeforeExpiry, fair, next_);
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

// If the store is unavailable the decision has no balance, and the producer goes on with the share
// that it had.
void BudgetPace::OnDecision(const BudgetRequest& request, const BudgetDecision& decision, bool more,
                            Instant now) {
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
    used_fraction_ = std::max(used_fraction_, kLeastWait);
  }
  if (!is_second_ && paced_ && decision.granted && more && used_fraction_ < 1) {
    is_second_ = true;
  } else {
    EndTurn();
  }
}

// Turns that nearly coincide would stay together, so that the wait of each turn is random.
void BudgetPace::EndTurn() {
  is_second_ = false;
  const double jitter = 0.6 + 0.8 * rng_.Unit();
  next_ = began_ + ScaledBy(spacing_, std::clamp(used_fraction_, kLeastWait, kMaxWait) * jitter);
}

}  // namespace weir::kinesis
