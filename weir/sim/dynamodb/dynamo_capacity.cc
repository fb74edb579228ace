#include "weir/sim/dynamodb/dynamo_capacity.h"

#include <algorithm>
#include <chrono>

namespace weir::sim {

RangeCapacity::Balance& RangeCapacity::Refill(const KeyRange& range, const RangeTerms& terms,
                                              Instant now) {
  // A new range gets the units of one second, even if `burst` is shorter.
  const auto [found, is_new] = balances_.try_emplace(range, Balance{terms.units_a_second, now});
  Balance& balance = found->second;
  using Seconds = std::chrono::duration<double>;
  const double most = terms.units_a_second * std::max(Seconds(terms.burst).count(), 1.0);
  balance.units += terms.units_a_second * Seconds(now - balance.at).count();
  balance.units = std::min(balance.units, most);
  balance.at = now;
  return balance;
}

bool RangeCapacity::HasUnits(const KeyRange& range, const RangeTerms& terms, Instant now) {
  return terms.units_a_second <= 0 || Refill(range, terms, now).units > 0;
}

void RangeCapacity::Consume(const KeyRange& range, double units, const RangeTerms& terms,
                            Instant now) {
  if (terms.units_a_second > 0) Refill(range, terms, now).units -= units;
}

}  // namespace weir::sim
