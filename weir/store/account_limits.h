// Limits of accounts: one row for each resource and account, each owned by a service. As
// rate-limiter-py's limits table has them (reference: its README, "limit table").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/done.h"
#include "weir/runtime/deadline.h"
#include "weir/store/reservation_store.h"

namespace weir {

/// Tokens per window, or slots at once (then there is no window).
struct AccountLimit {
  std::int64_t limit = 0;          ///< 0 or less: the account is blocked
  std::chrono::seconds window{0};  ///< 0: none is given

  bool blocked() const { return limit <= 0; }
  friend bool operator==(const AccountLimit&, const AccountLimit&) = default;
};

/// The most that a row may say, so that arithmetic stays exact: 9,000,000,000,000 tokens, and 366
/// days.
inline constexpr std::int64_t kMostAccountTokens = 9'000'000'000'000;
inline constexpr std::chrono::seconds kLongestWindow{366LL * 24 * 3600};
/// kInvalidArgument, naming the key, for more than that and for negative windows.
[[nodiscard]] Status Check(const AccountKey& key, const AccountLimit& limit);

struct AccountLimitRow {
  AccountKey key;
  AccountLimit limit;
  std::string service;  ///< who put it there; empty: unknown

  friend bool operator==(const AccountLimitRow&, const AccountLimitRow&) = default;
};

/// Put only where `seen` is what stands there (nothing: no row), whoever owns it.
struct PutAccountLimit {
  AccountLimitRow row;
  std::optional<AccountLimitRow> seen;
};
/// Deletes only what is as it was seen.
struct DeleteAccountLimit {
  AccountLimitRow seen;
};
using AccountLimitChange = std::variant<PutAccountLimit, DeleteAccountLimit>;

/// As BucketStore in threads, lifetimes and errors. kFailedPrecondition, naming the row and what is
/// wrong with it, for a row that says no limit that we could hold (a fraction, a text).
class AccountLimitStore {
 public:
  virtual ~AccountLimitStore() = default;

  virtual void Get(const AccountKey& key, Deadline deadline,
                   Done<std::optional<AccountLimitRow>> done) = 0;
  /// The keys of all rows of a service, in their order. They may be those of a moment ago: Get says
  /// whether a row is there, what it says and whose it is.
  virtual void KeysOfService(const std::string& service, Deadline deadline,
                             Done<std::vector<AccountKey>> done) = 0;
  /// One change. kAborted where the row is not as it was seen. A lost answer may be followed by the
  /// same change: it answers success where the row is as wished.
  virtual void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) = 0;
};

}  // namespace weir
