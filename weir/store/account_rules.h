// What each verb of an AccountLimitStore and a TokenStore answers and changes, whatever holds the
// rows. The arguments are checked already (reservation_checks.h).
#pragma once

#include <cstdint>

#include "weir/store/reservation_rows.h"
#include "weir/store/token_store.h"

namespace weir {

[[nodiscard]] Status ChangeLimit(ReservationRows& rows, const AccountLimitChange& change);

struct AccountTake {
  AccountKey key;
  AccountLimit limit;
  std::int64_t count = 0;
};

[[nodiscard]] Result<TokenAnswer> TakeTokens(ReservationRows& rows, const AccountTake& wanted,
                                             UnixMillis now);

}  // namespace weir
