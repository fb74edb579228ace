#include "weir/sim/dynamodb/dynamo_capacity.h"

#include <algorithm>
#include <chrono>

namespace weir::sim {

RangeCapacity::Balance& RangeCapacity::Refill(const KeyRange& range, const RangeRate& rate,
                                              Instant now) {
  // A new range gets the units of one second, even if `burst` is shorter.
  const auto [found, is_new] = balances_.try_emplace(range, Balance{rate.units_a_second, now});
  Balance& balance = found->second;
  using Seconds = std::chrono::duration<double>;
  const double most = rate.units_a_second * std::max(Seconds(rate.burst).count(), 1.0);
  balance.units += rate.units_a_second * Seconds(now - balance.at).count();
  balance.units = std::min(balance.units, most);
  balance.at = now;
  return balance;
}

bool RangeCapacity::HasUnits(const KeyRange& range, const RangeRate& rate, Instant now) {
  return rate.units_a_second <= 0 || Refill(range, rate, now).units > 0;
}

void RangeCapacity::Consume(const KeyRange& range, double units, const RangeRate& rate,
                            Instant now) {
  if (rate.units_a_second > 0) Refill(range, rate, now).units -= units;
}

}  // namespace weir::sim
