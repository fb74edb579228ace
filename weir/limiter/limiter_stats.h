// What a Limiter counts.
#pragma once

#include <cstdint>

#include "weir/limiter/resolver.h"

namespace weir {

/// Of limits with an allowance (Limit::allowance). Tokens in millitokens, added up over all limits.
struct AllowanceStats {
  std::uint64_t decisions = 0;  ///< made without the store
  std::uint64_t debits = 0;     ///< calls that took ahead; they are store_acquires too
  std::uint64_t refused = 0;    ///< of these
  std::uint64_t returns = 0;    ///< calls that gave back; they are store_adjusts too
  std::uint64_t spent = 0;
  std::uint64_t returned = 0;
  std::uint64_t forfeited = 0;  ///< over before they were used, or given back without an answer
  std::uint64_t debited = 0;
  std::uint64_t out = 0;    ///< debited and none of the three above: held now, or on its way back
  std::uint64_t pairs = 0;  ///< at this moment
};

struct LimiterStats {
  std::uint64_t admitted = 0;  ///< these three add up to all answers
  std::uint64_t refused = 0;
  std::uint64_t errors = 0;
  std::uint64_t charged = 0;  ///< these two add up to the admitted
  std::uint64_t unprotected = 0;
  std::uint64_t waiting = 0;           ///< at this moment
  std::uint64_t store_errors = 0;      ///< requests that the store did not answer
  std::uint64_t adjusts_in_doubt = 0;  ///< answers to adjusts that left it open whether they count
  std::uint64_t adjusts_given_up = 0;  ///< in doubt for 10 minutes, and not sent again
  std::uint64_t outdated = 0;  ///< answers of the store that limits are to be resolved again
  ResolverStats resolver;
  AllowanceStats allowances;
  /// Calls to the store, by kind.
  std::uint64_t store_acquires = 0;
  std::uint64_t store_adjusts = 0;
  std::uint64_t store_config_reads = 0;
};

}  // namespace weir
