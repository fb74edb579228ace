#include "apps/weir/replay/admission_check.h"

#include <fmt/format.h>

#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

/// Holds millitokens times milliseconds without overflow.
__extension__ using Wide = __int128;

/// Tracks the tokens charged to one limit, and the start of the interval that comes closest to
/// exceeding the limit.
class Ledger {
 public:
  explicit Ledger(const CheckedLimit& limit) : limit_(limit) {}

  // Adds the operation of a line. Call it before IsWithinBoundAt.
  void Charge(const LogLine& line) {
    // Let S_i be the sum before operation i, and S'_j the sum after operation j. Operations i to j
    // charge S'_j - S_i. With level(S, t) = S * period - amount * t, that is at most capacity +
    // amount * (t_j - t_i) / period if and only if level(S'_j, t_j) - level(S_i, t_i) <= capacity *
    // period. So it suffices to compare with the smallest level(S_i, t_i) so far.
    const Wide level = Wide{sum_} * limit_.period - Wide{limit_.amount} * line.at.value;
    if (!lowest_level_ || level < *lowest_level_) {
      lowest_level_ = level;
      time_of_lowest_level_ = line.at;
      sum_at_lowest_level_ = sum_;
    }
    sum_ += line.amount;
  }

  bool IsWithinBoundAt(UnixMillis now) const {
    const Wide level = Wide{sum_} * limit_.period - Wide{limit_.amount} * now.value;
    return level - *lowest_level_ <= Wide{limit_.capacity} * limit_.period;
  }

  LimitViolation ViolationAt(UnixMillis now, const LimitKey& key) const {
    const Wide refill = Wide{limit_.amount} * (now - time_of_lowest_level_).count() / limit_.period;
    return {key, time_of_lowest_level_, now, sum_ - sum_at_lowest_level_,
            limit_.capacity + static_cast<std::int64_t>(refill)};
  }

 private:
  const CheckedLimit limit_;
  std::int64_t sum_ = 0;
  std::optional<Wide> lowest_level_;
  UnixMillis time_of_lowest_level_;
  std::int64_t sum_at_lowest_level_ = 0;
};

bool Charges(const LogLine& line) {
  return line.outcome == LogOutcome::kAdmitted || line.outcome == LogOutcome::kDone;
}

}  // namespace

std::optional<LimitViolation> FindViolation(std::span<const LogLine> lines,
                                            const CheckedLimits& limits) {
  std::map<LimitKey, Ledger> ledgers;
  for (const LogLine& line : lines) {
    if (!Charges(line) || line.amount == 0) continue;
    const LimitKey key(line.entity, line.resource, line.limit);
    const auto limit = limits.find(key);
    if (limit == limits.end()) return LimitViolation{key, line.at, line.at, line.amount, 0};
    Ledger& ledger = ledgers.try_emplace(key, limit->second).first->second;
    ledger.Charge(line);
    // An adjust may leave debt; only a take requires enough tokens.
    if (line.op != LogOp::kTake || ledger.IsWithinBoundAt(line.at)) continue;
    return ledger.ViolationAt(line.at, key);
  }
  return std::nullopt;
}

std::string TextOf(const LimitViolation& violation) {
  const auto& [entity, resource, limit] = violation.key;
  return fmt::format(
      "limit {} of entity {} on resource {}: {} tokens charged from {} to {}, but at most {} "
      "allowed",
      limit, entity, resource, FormatTokens(violation.charged), FormatTime(violation.from),
      FormatTime(violation.to), FormatTokens(violation.allowed));
}

}  // namespace weir::app
