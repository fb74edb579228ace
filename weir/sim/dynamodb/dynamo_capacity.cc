#include "weir/sim/dynamodb/dynamo_capacity.h"

#include <algorithm>
#include <chrono>

namespace weir::sim {

PartitionCapacity::Balance& PartitionCapacity::Refill(const PartitionKey& key,
                                                      const PartitionRate& rate, Instant now) {
  const auto [found, is_new] = balances_.try_emplace(key, Balance{rate.units_a_second, now});
  Balance& balance = found->second;
  using Seconds = std::chrono::duration<double>;
  // A balance may always hold the units of one second, even if `burst` is shorter: a new one begins
  // with them.
  const double max_units = rate.units_a_second * std::max(Seconds(rate.burst).count(), 1.0);
  balance.units += rate.units_a_second * Seconds(now - balance.at).count();
  balance.units = std::min(balance.units, max_units);
  balance.at = now;
  return balance;
}

bool PartitionCapacity::HasUnits(const PartitionKey& key, const PartitionRate& rate, Instant now) {
  return rate.units_a_second <= 0 || Refill(key, rate, now).units > 0;
}

void PartitionCapacity::Consume(const PartitionKey& key, double units, const PartitionRate& rate,
                                Instant now) {
  if (rate.units_a_second > 0) Refill(key, rate, now).units -= units;
}

}  // namespace weir::sim
