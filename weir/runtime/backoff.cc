#include "weir/runtime/backoff.h"

#include <limits>

namespace weir {

nanoseconds Backoff::Next(Rng& rng) {
  // base * 2^k <= cap exactly when base <= floor(cap / 2^k), and this division cannot overflow.
  const bool below_cap = tries_ < 63 && base_.count() <= (cap_.count() >> tries_);
  const std::int64_t longest = below_cap ? base_.count() << tries_ : cap_.count();
  if (tries_ < std::numeric_limits<std::uint32_t>::max()) ++tries_;
  return nanoseconds(rng.Between(0, longest));
}

}  // namespace weir
