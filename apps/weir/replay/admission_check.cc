#include "apps/weir/replay/admission_check.h"

#include <fmt/format.h>

#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

/// Holds millitokens times milliseconds without overflow.
__extension__ using Wide = __int128;

/// The sum charged to one limit, and the start of the interval that is nearest to the bound.
class Ledger {
 public:
  explicit Ledger(const BoundLimit& limit) : limit_(limit) {}

  // Adds the operation of a line. Call it before WithinAt.
  void Charge(const LogLine& line) {
    // Let S be the sum before an operation. The interval from i to j contains S_j' - S_i. It is
    // within capacity + amount * (t_j - t_i) / period if and only if the level of j, S * period -
    // amount * t, is at most capacity * period above the level of i. So the lowest level so far
    // decides for all i.
    const Wide level = Wide{sum_} * limit_.period - Wide{limit_.amount} * line.at.value;
    if (!lowest_ || level < *lowest_) {
      lowest_ = level;
      lowest_at_ = line.at;
      lowest_sum_ = sum_;
    }
    sum_ += line.amount;
  }

  bool WithinAt(UnixMillis now) const {
    const Wide level = Wide{sum_} * limit_.period - Wide{limit_.amount} * now.value;
    return level - *lowest_ <= Wide{limit_.capacity} * limit_.period;
  }

  BoundBreach BreachAt(UnixMillis now, const BoundKey& key) const {
    const Wide refill = Wide{limit_.amount} * (now - lowest_at_).count() / limit_.period;
    return {key, lowest_at_, now, sum_ - lowest_sum_,
            limit_.capacity + static_cast<std::int64_t>(refill)};
  }

 private:
  const BoundLimit limit_;
  std::int64_t sum_ = 0;
  std::optional<Wide> lowest_;
  UnixMillis lowest_at_;
  std::int64_t lowest_sum_ = 0;
};

bool Charges(const LogLine& line) {
  return line.outcome == LogOutcome::kAdmitted || line.outcome == LogOutcome::kDone;
}

}  // namespace

std::optional<BoundBreach> FindBreach(std::span<const LogLine> lines, const BoundLimits& limits) {
  std::map<BoundKey, Ledger> ledgers;
  for (const LogLine& line : lines) {
    if (!Charges(line) || line.amount == 0) continue;
    const BoundKey key(line.entity, line.resource, line.limit);
    const auto limit = limits.find(key);
    if (limit == limits.end()) return BoundBreach{key, line.at, line.at, line.amount, 0};
    Ledger& ledger = ledgers.try_emplace(key, limit->second).first->second;
    ledger.Charge(line);
    // An adjust may leave debt; only a take must find the tokens that it takes.
    if (line.op != LogOp::kTake || ledger.WithinAt(line.at)) continue;
    return ledger.BreachAt(line.at, key);
  }
  return std::nullopt;
}

std::string TextOf(const BoundBreach& breach) {
  const auto& [entity, resource, limit] = breach.key;
  return fmt::format("{} of {} on {}: {} tokens from {} to {}, where at most {} may be", limit,
                     entity, resource, FormatTokens(breach.charged), FormatTime(breach.from),
                     FormatTime(breach.to), FormatTokens(breach.allowed));
}

}  // namespace weir::app
