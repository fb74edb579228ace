// The rules of AccountLimitStore and TokenStore: what each method returns and changes, independent
// of how the rows are stored. The arguments have been checked before (reservation_checks.h).
#pragma once

#include <cstdint>

#include "weir/store/reservation/reservation_rows.h"
#include "weir/store/reservation/token_store.h"

namespace weir {

/// Implements AccountLimitStore::Change on rows.
[[nodiscard]] Status ChangeLimit(ReservationRows& rows, const AccountLimitChange& change);

struct AccountTake {
  AccountKey key;
  AccountLimit limit;
  std::int64_t count = 0;
};

/// Implements TokenStore::Take on rows. REQUIRES: wanted.count is in 1 .. wanted.limit.limit, and
/// the limit has a window.
[[nodiscard]] Result<TokenResult> TakeTokens(ReservationRows& rows, const AccountTake& wanted,
                                             UnixMillis now);

}  // namespace weir
