// AccountLimitStore on rate-limiter-py's table of limits.
//
// Format: rate-limiter-py 0.3.0: `limit` and `windowSec` (whole numbers), `serviceName`; a row
// without `windowSec` has no window, one without `serviceName` belongs to nobody.
#pragma once

#include <string>
#include <vector>

#include "weir/dynamo/table.h"
#include "weir/store/account_limits.h"

namespace weir::rate_limiter_py {

/// Contract: store/account_limits.h. Get reads what was written last. A put leaves attributes of
/// others in the row. KeysOfService reads the service's index, which lags; at most 100,000 rows:
/// kResourceExhausted beyond.
///
/// Thread-safe. `table` has the layout of tables.h, and `service_index` is one of it; the table
/// must outlive it and every call.
class AccountLimitTable final : public AccountLimitStore {
 public:
  AccountLimitTable(dynamo::Table& table, std::string service_index);

  void Get(const AccountKey& key, Deadline deadline,
           Done<std::optional<AccountLimitRow>> done) override;
  void KeysOfService(const std::string& service, Deadline deadline,
                     Done<std::vector<AccountKey>> done) override;
  void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) override;

 private:
  dynamo::Table& table_;
  const std::string service_index_;
};

/// A row of the table. kFailedPrecondition, naming the row, the attribute and what would be right,
/// for a limit or a window that is no whole number, or beyond what is held.
[[nodiscard]] Result<AccountLimitRow> ReadRow(const dynamo::Item& item);

}  // namespace weir::rate_limiter_py
