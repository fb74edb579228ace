// Limits of accounts: one row for each resource and account. Each row is owned by a service. The
// model is rate-limiter-py's limits table (reference: its README, "limit table").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/runtime/deadline.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir {

/// A number of tokens in each window, or a number of slots that are held at once (then there is no
/// window).
struct AccountLimit {
  std::int64_t limit = 0;          ///< 0 or less: the account is blocked
  std::chrono::seconds window{0};  ///< 0: there is no window

  bool blocked() const { return limit <= 0; }
  friend bool operator==(const AccountLimit&, const AccountLimit&) = default;
};

/// The largest values in a row, so that arithmetic stays exact: 9,000,000,000,000 tokens, and 366
/// days.
inline constexpr std::int64_t kMaxAccountTokens = 9'000'000'000'000;
inline constexpr std::chrono::seconds kLongestWindow{366LL * 24 * 3600};
/// Returns kInvalidArgument, with the key, for larger values and for negative windows.
[[nodiscard]] WEIR_API Status Check(const AccountKey& key, const AccountLimit& limit);

struct AccountLimitRow {
  AccountKey key;
  AccountLimit limit;
  std::string service;  ///< the owner of the row; empty: unknown

  friend bool operator==(const AccountLimitRow&, const AccountLimitRow&) = default;
};

/// Stores `row` if the present row equals `seen` (nothing: there is no row), regardless of the
/// row's owner.
struct PutAccountLimit {
  AccountLimitRow row;
  std::optional<AccountLimitRow> seen;
};
/// Deletes the row if it equals `seen`.
struct DeleteAccountLimit {
  AccountLimitRow seen;
};
using AccountLimitChange = std::variant<PutAccountLimit, DeleteAccountLimit>;

/// Threads, lifetimes and errors are as for BucketStore. A call fails with kFailedPrecondition,
/// with the row and the reason, if a row contains no valid limit (for example a fraction or a
/// text).
class WEIR_API AccountLimitStore {
 public:
  virtual ~AccountLimitStore() = default;

  /// Returns the row of a key, or nothing if there is none.
  virtual void Get(const AccountKey& key, Deadline deadline,
                   Done<std::optional<AccountLimitRow>> done) = 0;
  /// Returns the keys of all rows of a service, in ascending order. The list may be slightly out of
  /// date: Get returns the present row, with its limit and its owner.
  virtual void KeysOfService(const std::string& service, Deadline deadline,
                             Done<std::vector<AccountKey>> done) = 0;
  /// Makes one change. Fails with kAborted if the row differs from `seen`. If a response was lost,
  /// the same change may be sent again: it succeeds if the row is already as requested.
  virtual void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) = 0;
};

}  // namespace weir
