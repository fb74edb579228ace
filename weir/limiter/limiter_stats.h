// The statistics of a Limiter.
#pragma once

#include <cstdint>

#include "weir/limiter/resolution/resolver.h"

namespace weir {

/// Statistics of limits with an allowance (Limit::allowance). Tokens are counted in millitokens,
/// summed over all limits. `debited` = `spent` + `returned` + `forfeited` + `out`.
struct AllowanceStats {
  std::uint64_t decisions = 0;  ///< decisions made without a call to the store
  std::uint64_t debits = 0;     ///< calls that debit tokens in advance; also in store_acquires
  std::uint64_t refused = 0;    ///< debits that the store refused
  std::uint64_t returns = 0;    ///< calls that return unused tokens; also in store_adjusts
  std::uint64_t spent = 0;      ///< tokens that admitted requests used
  std::uint64_t returned = 0;   ///< tokens that the store has accepted back
  std::uint64_t forfeited = 0;  ///< tokens that expired unused, or whose return failed
  std::uint64_t debited = 0;    ///< tokens taken in advance
  std::uint64_t out = 0;        ///< tokens held now, or in a return that is in flight
  std::uint64_t pairs = 0;      ///< (entity, resource) pairs with an allowance now
};

/// Statistics of a Limiter since its construction. Every completed request is one of `admitted`,
/// `refused` and `errors`; every admitted request is `charged` or `unprotected`.
struct LimiterStats {
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t errors = 0;
  std::uint64_t charged = 0;
  std::uint64_t unprotected = 0;       ///< admitted by policy, without a lease (Outcome)
  std::uint64_t waiting = 0;           ///< requests that wait for tokens now
  std::uint64_t store_errors = 0;      ///< requests for which the store was unavailable
  std::uint64_t adjusts_in_doubt = 0;  ///< sent adjusts whose result left them in doubt
  std::uint64_t adjusts_given_up = 0;  ///< in doubt for 10 minutes, or partial; not sent again
  std::uint64_t outdated = 0;          ///< results of the store that report outdated limits
  ResolverStats resolver;
  AllowanceStats allowances;
  /// Calls to the store, by kind.
  std::uint64_t store_acquires = 0;
  std::uint64_t store_adjusts = 0;
  std::uint64_t store_config_reads = 0;
};

}  // namespace weir
