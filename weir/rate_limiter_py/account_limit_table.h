// AccountLimitStore on rate-limiter-py's table of limits.
//
// Format: rate-limiter-py 0.3.0: `limit` and `windowSec` (whole numbers), `serviceName`; a row
// without `windowSec` has no window, one without `serviceName` belongs to no service.
#pragma once

#include <string>
#include <vector>

#include "weir/dynamodb/table.h"
#include "weir/store/reservation/account_limits.h"

namespace weir::rate_limiter_py {

/// Contract: store/reservation/account_limits.h. Get is strongly consistent. A put keeps attributes
/// that others have added to the row. KeysOfService reads the service's index, which is eventually
/// consistent; it returns kResourceExhausted for more than 100,000 rows.
///
/// Thread-safe. `table` has the layout of tables.h, and `service_index` is its index of services;
/// the table must outlive this object and every call.
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

/// Parses a row of the table. Returns kFailedPrecondition, with the row, the attribute and what
/// is expected, if the limit or the window is not a whole number in its range.
[[nodiscard]] Result<AccountLimitRow> ReadRow(const dynamo::Item& item);

}  // namespace weir::rate_limiter_py
