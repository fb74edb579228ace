// Looks up the limits of accounts, with a cache. Mechanism: docs/design/reservations.md.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/base/time.h"
#include "weir/reservation/account_cache.h"
#include "weir/store/reservation/account_limits.h"
#include "weir/telemetry/counter.h"

namespace weir {

struct LimitLookupOptions {
  milliseconds ttl{60'000};        ///< 0: no cache, and no sharing of calls
  std::size_t capacity = 200'000;  ///< accounts
};

/// Thread-safe. The store and the clock must outlive it. It may be destroyed only when no call is
/// in flight.
class LimitLookup {
 public:
  LimitLookup(AccountLimitStore& store, const Clock& clock, LimitLookupOptions options);
  LimitLookup(const LimitLookup&) = delete;
  LimitLookup& operator=(const LimitLookup&) = delete;

  /// Passes the limit of the account's row to `done`, or nullopt if there is no row. The limit, or
  /// the absence of a row, is cached for `ttl` from the start of the call to the store. Errors are
  /// those of the store and are not cached. Calls that miss one account at the same time share one
  /// call to the store, except a call whose deadline is before that of the shared one.
  void Get(const AccountKey& key, Deadline deadline, Done<std::optional<AccountLimit>> done);

  std::uint64_t store_reads() const { return store_reads_.Value(); }

 private:
  using Limit = std::optional<AccountLimit>;
  struct Waiter {
    Deadline deadline;
    Done<Limit> done;
  };
  /// A call to the store in flight and the callers that wait for it.
  struct Fetch {
    AccountKey key;
    Deadline deadline;
    Instant started;
    std::vector<Waiter> waiters{};  ///< guarded by mutex_
  };
  using FetchPtr = std::shared_ptr<Fetch>;

  /// Returns true if the caller joined another fetch. Otherwise sets `found` from the cache, or
  /// registers `fetch`, which the caller must send.
  bool JoinFetch(const FetchPtr& fetch, Waiter& waiter, std::optional<Limit>& found);
  void JoinOrFetch(const AccountKey& key, Waiter waiter);
  void SendFetch(const FetchPtr& fetch);
  /// Caches the result and passes it to the callers.
  void OnFetchResult(const FetchPtr& fetch, const Result<Limit>& result);

  AccountLimitStore& store_;
  const Clock& clock_;
  const milliseconds ttl_;
  Mutex mutex_;
  AccountCache<Limit> cache_ WEIR_GUARDED_BY(mutex_);
  std::map<AccountKey, FetchPtr> fetches_ WEIR_GUARDED_BY(mutex_);
  Counter store_reads_;
};

}  // namespace weir
